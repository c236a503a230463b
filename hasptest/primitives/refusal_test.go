package primitives_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/evalsha"
	"github.com/hasp-go/hasp/primitives"
)

// driven is a server behind the part that adapters share.
type driven struct {
	*server
	runner *evalsha.Runner
}

// driver sends scripts to a server, which has them all.
type driver struct{ *server }

func (d driver) Send(ctx context.Context, cmd evalsha.Command) (backend.Reply, error) {
	return d.Run(ctx, cmd.Script, cmd.Keys, cmd.Args)
}

func (d driver) SendAll(ctx context.Context, cmds []evalsha.Command) (outcomes []backend.Outcome) {
	for _, cmd := range cmds {
		reply, err := d.Send(ctx, cmd)
		outcomes = append(outcomes, backend.Outcome{Reply: reply, Err: err})
	}
	return outcomes
}

func (driver) Node(string) string                                  { return "" }
func (driver) Load(context.Context, *backend.Script, string) error { return nil }
func (driver) LoadAll(context.Context, *backend.Script) error      { return nil }

// RunBatch is as for [backend.Batcher].
func (d driven) RunBatch(ctx context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome)) {
	d.runner.RunBatch(ctx, driver{d.server}, calls, report)
}

// TestRefusalRenewsAtOnce lets a server take the place of another, which a call learns of by a refusal. The backend
// repeats the call with success, and a holder learns that the new server does not have its lock.
func TestRefusalRenewsAtOnce(t *testing.T) {
	t.Parallel()
	for _, refusal := range []string{
		"READONLY You can't write against a read only replica.", "MOVED 1 127.0.0.1:2", "CLUSTERDOWN The cluster is down",
		"LOADING Redis is loading the dataset in memory",
	} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t)
			c := s.over(t, driven{s, evalsha.New(driver{s}, nil)}, nil)
			kept := must(c.NewLock("kept", nil).Lock(t.Context()))(t)
			lost := must(c.NewLock("lost", nil).Lock(t.Context()))(t)
			time.Sleep(time.Second)
			refused := false
			s.set(func() {
				s.fault = func(string) (f fault) {
					if !refused {
						refused, f.err = true, backend.ParseServerError(refusal)
					}
					return f
				}
			})
			require.NoError(t, errOf(s.embedded.Do("DEL", "lost")))
			require.NoError(t, lost.Err())
			require.NoError(t, errOf(c.NewLock("another", nil).TryLock(t.Context())))
			time.Sleep(100 * time.Millisecond)
			require.ErrorIs(t, lost.Err(), primitives.ErrLost)
			require.NoError(t, kept.Err())
		})
	}
}
