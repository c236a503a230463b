// Package runners has runners for functions that luagen makes, each over a driver's client alone: to copy, one file,
// where a program has no backend of hasp. A backend does more: it sends a script again where that is safe, and refuses
// keys of several slots before it sends.
package runners

//go:generate go tool luagen .
