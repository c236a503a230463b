package guard

// Name is the name by which the program runs as a guard: see [Main].
const Name = "hasp-guard"
