//go:build !linux

package guard

// Separate says that a guard acts even while the process that started it is stopped.
const Separate = false

// Main is the program of a guard on Linux.
func Main([]string) int { return 1 }
