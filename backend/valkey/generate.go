// The client is a fork of rueidis: this package is generated from package rueidisbackend.

package valkeybackend

//go:generate go run ./internal/gen
