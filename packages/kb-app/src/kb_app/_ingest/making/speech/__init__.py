"""Speech: from the bytes of a recording or a film to what is said in it, and when."""
