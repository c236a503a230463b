// Package script holds the script of [embedded.Server.Revoke], and the Go function that
// luagen makes from it. Run "make generate" after changing it.
//
// [embedded.Server.Revoke]: https://pkg.go.dev/github.com/hasp-go/hasp/backend/embedded#Server.Revoke
package script

//go:generate go run ../../../../luagen -strict .
