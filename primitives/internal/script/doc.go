// Package script has the primitives' scripts: each is a .lua file, next to the Go function that
// luagen makes from it. Run "make generate" after a change.
package script
