// Command hasp acquires locks of a Redis server for shell scripts, cron jobs and containers, and shows the locks that
// there are. See docs/command.md, or hasp help.
package main

import (
	"os"

	"github.com/hasp-go/hasp/cmd/hasp/internal/command"
	"github.com/hasp-go/hasp/cmd/hasp/internal/guard"
)

//go:generate go run ./internal/pages -reference ../../docs/command-reference.md

func main() {
	if os.Args[0] == guard.Name {
		os.Exit(guard.Main(os.Args[1:]))
	}
	os.Exit(command.Main(os.Args[1:]))
}
