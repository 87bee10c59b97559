"""What is known of programming languages: node types, header lines, names of units."""
