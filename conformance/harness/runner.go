package harness

import (
	"context"

	"github.com/hasp-go/hasp/backend"
)

// Runner is a backend whose calls Instead gets. It does not batch, so all of them come to it.
type Runner struct {
	backend.Backend
	Instead func(ctx context.Context, c backend.Call) (backend.Reply, error)
}

// Run implements [backend.ScriptRunner].
func (r *Runner) Run(ctx context.Context, s *backend.Script, keys, args []string) (backend.Reply, error) {
	return r.Instead(ctx, backend.Call{Script: s, Keys: keys, Args: args})
}

// Good is Run of the backend below.
func (r *Runner) Good(ctx context.Context, c backend.Call) (backend.Reply, error) {
	return r.Backend.Run(ctx, c.Script, c.Keys, c.Args)
}
