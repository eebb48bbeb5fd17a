// Browsers refuse to start a worker from a file: on pages opened from disk, the search runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.frame = frame.contentWindow;
      addEventListener("message", (event) => {
        if (event.source !== this.frame) return;
        event.stopImmediatePropagation();
        this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        if (this.onmessage) this.onmessage(event);
      });
      const setup = `
        postMessage = parent.postMessage.bind(parent);
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = done;
          document.body.appendChild(script);
        })), Promise.resolve());`;
      this.frame.document.open();
      this.frame.document.write(`<body><script>${setup}<\/script><script src="${url}"><\/script></body>`);
      this.frame.document.close();
      this.ready = new Promise((done) => { this.frame.onload = done; });
    }
    postMessage(data) {
      this.ready.then(() => this.frame.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() { this.frame.frameElement.remove(); }
  };
}
