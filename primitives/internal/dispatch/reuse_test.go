package dispatch_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/dispatch"
)

// stuck is a backend without a connection: it holds what it gets until the end of a minute.
type stuck struct {
	backend.ScriptRunner
	sent func(claim *backend.Claim)
}

func (s stuck) RunBatch(
	_ context.Context, calls []backend.Call, report func(place int, outcome backend.Outcome),
) {
	for place, c := range calls {
		c.Claim.NotSent(nil)
		time.Sleep(time.Minute)
		if c.Claim.Begin() {
			s.sent(c.Claim)
		}
		report(place, backend.Outcome{})
	}
}

// TestRequestIsUsedAgain makes a request once more after it certainly was not sent, in the same memory:
// the first must not be sent with the claim of the second.
func TestRequestIsUsedAgain(t *testing.T) {
	virtual(t, func(t *testing.T) {
		sent := 0
		d := dispatch.New(stuck{sent: func(*backend.Claim) { sent++ }})
		r, script := &dispatch.Request{}, backend.NewScript("x", "", 1, backend.RetryNever)
		for range 2 {
			*r = dispatch.Request{Script: script, Keys: []string{"k"}}
			require.ErrorIs(t, errOf(do(t.Context(), d, r)), backend.ErrUnavailable)
		}
		time.Sleep(5 * time.Minute)
		require.Zero(t, sent)
	})
}
