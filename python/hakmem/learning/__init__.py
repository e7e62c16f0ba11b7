"""Does learning pay? What is learned about a program, held against every setting that could have been made by hand."""
