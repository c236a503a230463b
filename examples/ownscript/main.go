// Command ownscript has a Lua script of its own, a token bucket, from which luagen makes a Go
// function. It needs nothing but Go. docs/luagen.md builds it step by step.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"time"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
)

//go:generate go tool luagen .

func main() {
	if err := run(os.Stdout); err != nil {
		log.Fatal(err)
	}
}

func run(out io.Writer) error {
	server := embedded.NewServer()
	b, err := embedded.New(server, nil) // or a backend over your own client
	if err != nil {
		return err
	}
	defer b.Close()
	ctx := context.Background()
	for range 5 {
		r, err := Take(ctx, b, "bucket:alice", 3, 2, 1) // 3 tokens, 2 a second; 1 of them
		if err != nil {
			return err
		}
		fmt.Fprintf(out, "taken %v, left %d, wait %v\n", r.Taken, r.Left, r.Wait.Round(100*time.Millisecond))
		server.Advance(r.Wait) // where others sleep
	}
	_, err = Take(ctx, b, "bucket:alice", 3, 2, 4)
	fmt.Fprintln(out, "four of three:", errors.Is(err, backend.ScriptError("TOOMANY")))
	return nil
}
