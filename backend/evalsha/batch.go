package evalsha

import (
	"context"
	"errors"
	"sync"

	"github.com/hasp-go/hasp/backend"
)

// batch is one RunBatch at work. Calls are known by their place in it.
type batch struct {
	runner   *Runner
	calls    []backend.Call
	send     func([]Command) []backend.Outcome
	outcomes []backend.Outcome
}

// run sends the calls at these places in one go.
func (b *batch) run(places []int) {
	if len(places) == 0 {
		return
	}
	commands := make([]Command, len(places))
	for i, place := range places {
		call := b.calls[place]
		commands[i] = b.runner.command(call.Script, call.Keys, call.Args)
	}
	for i, outcome := range b.send(commands) {
		b.outcomes[places[i]] = outcome
	}
}

// load loads the scripts that servers did not know, each once for all calls and on every primary,
// and returns the places of those calls.
func (b *batch) load(ctx context.Context, places []int) []int {
	loaded := map[*backend.Script]bool{}
	var again []int
	for _, place := range places {
		script := b.calls[place].Script
		if !noScript(b.outcomes[place].Err) || script.Command != "" {
			continue
		}
		if _, tried := loaded[script]; !tried {
			loaded[script] = b.runner.driver.LoadAll(ctx, script) == nil
		}
		if loaded[script] && ctx.Err() == nil {
			again = append(again, place)
		}
	}
	return again
}

// settle runs again, side by side, what failed and may be sent again.
func (b *batch) settle(ctx context.Context, places []int) {
	var group sync.WaitGroup
	for _, place := range places {
		outcome, call := &b.outcomes[place], b.calls[place]
		if outcome.Err == nil {
			continue
		}
		group.Go(func() {
			outcome.Reply, outcome.Err = b.runner.again(
				ctx, call.Script, call.Keys[0], outcome.Err,
				func() (backend.Reply, error) {
					return b.runner.driver.Send(
						ctx, b.runner.command(call.Script, call.Keys, call.Args))
				})
		})
	}
	group.Wait()
}

func noScript(err error) bool {
	var server *backend.ServerError
	return errors.As(err, &server) && server.Code == "NOSCRIPT"
}
