# Files as R writes them; read in test_written_by_r.py. Made with R 4.2.2: cd tests/readers/data && Rscript make.R
z <- matrix(c(1L, 1L, 2L, 2L,
              1L, 1L, 1L, 2L,
              3L, 3L, 2L, 2L,
              1L, 2L, 2L, 2L,
              1L, 1L, 2L, 2L), nrow = 5, byrow = TRUE)
words <- c("a", "b", "c")
named <- z
dimnames(named) <- list(paste0("draw", 1:5), c("ann", "bob", "cy", "di"))
factors <- factor(words[z])
dim(factors) <- dim(z)
holes <- factors
holes[2, 3] <- NA
mcmc <- function(x) structure(x, class = "mcmc", mcpar = c(1, nrow(x), 1))

saveRDS(z, "integer.rds")
saveRDS(z + 0, "double.rds", compress = "xz")
saveRDS(z, "ascii.rds", ascii = TRUE)
saveRDS(named, "named.rds")
saveRDS(as.data.frame(z), "frame.rds")
saveRDS(as.data.frame(lapply(as.data.frame(z), function(x) factor(words[x]))), "factor_frame.rds")
saveRDS(factors, "factor_matrix.rds")
saveRDS(holes, "factor_holes.rds")
saveRDS(matrix(words[z], 5), "character.rds")
saveRDS(lapply(1:5, function(t) z[t, ]), "list_of_draws.rds")
saveRDS(list(z = z, alpha = c(0.5, 0.25), mu = matrix(1:10 / 8, 5)), "fit.rds")
saveRDS(list(chain1 = z, chain2 = z[5:1, ]), "named_chains.rds")
saveRDS(structure(list(mcmc(z), mcmc(z[5:1, ])), class = "mcmc.list"), "mcmc_list.rds")
save(z, words, file = "two.rda")

write.csv(z, "default.csv")
write.csv(named, "no_rows.csv", row.names = FALSE)
write.csv2(z, "semicolons.csv")
write.table(z, "table.txt")
write.table(named, "table_named.txt", col.names = NA, sep = "\t")
write.table(named, "table_no_header.csv", sep = ",", col.names = FALSE)
write.table(z, "table_no_header.txt", col.names = FALSE)
write.table(z, "bare.txt", col.names = FALSE, row.names = FALSE)
write.csv(matrix(words[z], 5), "words.csv")
