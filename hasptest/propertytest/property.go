// Package propertytest checks properties of code that uses hasp, by rapid: it draws what happens, faults of
// [hasptest.Server] among it, and makes what it finds small. docs/testing-your-code.md has a recipe.
package propertytest

import (
	"context"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hasp-go/hasp/hasptest"
)

// rest is how long what a property has left behind may go on, in virtual time.
const rest = 24 * time.Hour

// Property draws what happens to a server, and fails by methods of r. It gives ctx to all that it starts.
type Property func(ctx context.Context, r *rapid.T, s *hasptest.Server)

// Check checks a property as often as -rapid.checks says, each time in a testing/synctest bubble, thus in virtual time,
// with a server of its own. r.Fatal is safe in the bubble, as are testify's functions on r; rapid makes the failure
// smaller. A property that seldom knows whether there is a holder calls [hasptest.Server.TryLose].
//
// The property's context is of the bubble, as r.Context is not, and ends with the property. Goroutines that the property
// leaves behind then have a day to end. A goroutine that runs for longer fails the test, as in every bubble.
func Check(t *testing.T, property Property) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		rapid.SyncTest(r, func(r *rapid.T) {
			ctx, cancel := context.WithCancel(context.Background())
			r.Cleanup(func() { cancel(); time.Sleep(rest) })
			property(ctx, r, hasptest.New(r))
		})
	})
}
