// Command hasp acquires locks of a Redis server for shell scripts, cron jobs and containers, and shows the locks that
// there are. See docs/command.md, or hasp help.
package main

import (
	"os"

	"github.com/hasp-go/hasp/cmd/hasp/internal/child"
	"github.com/hasp-go/hasp/cmd/hasp/internal/command"
	"github.com/hasp-go/hasp/cmd/hasp/internal/guard"
)

//go:generate go run ./internal/pages -reference ../../docs/command-reference.md

func main() {
	switch os.Args[0] {
	case guard.Name:
		os.Exit(guard.Main())
	case child.StubName:
		os.Exit(child.Stub(os.Args[1:]))
	}
	os.Exit(command.Main(os.Args[1:]))
}
