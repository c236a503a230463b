package primitives

import (
	"context"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
)

// attended is the runner of one request whose outcome counts even if its caller leaves it behind.
// Then heir gets the outcome, which [Client.Close] waits for.
type attended struct {
	dispatch.Request
	client *Client
	heir   heir
	left   bool // its caller has left it behind, for heir; the caller may read it
}

// heir acts on what a request has done that its caller left behind.
type heir interface {
	// inherit gets a runner that answers the request at once. It must not block.
	inherit(r backend.ScriptRunner)
}

// Run implements [backend.ScriptRunner].
func (a *attended) Run(
	ctx context.Context, script *backend.Script, keys, args []string,
) (backend.Reply, error) {
	a.Script, a.Keys, a.Args, a.Heir = script, keys, args, a
	return a.client.calls.Do(ctx, &a.Request)
}

// Stay implements [dispatch.Heir].
func (a *attended) Stay() {
	a.left = true
	a.client.stay()
}

// Late implements [dispatch.Heir].
func (a *attended) Late(outcome backend.Outcome, answered bool) {
	defer a.client.leave()
	if !answered {
		a.left = false
		return
	}
	a.heir.inherit(answer(outcome))
}

// answer is a runner that has run: the one decode path is used for an outcome that comes late, too.
type answer backend.Outcome

// Run implements [backend.ScriptRunner].
func (a answer) Run(
	context.Context, *backend.Script, []string, []string,
) (backend.Reply, error) {
	return a.Reply, a.Err
}
