package primitives_test

import (
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/hasp-go/hasp/primitives"
	"github.com/hasp-go/hasp/primitives/trace"
)

// TestMismatchIsReportedOnce: by a warning, and to the tracer; another value is another mismatch; and a client reports a
// thousand at most.
func TestMismatchIsReportedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log, logged := observer.New(zap.WarnLevel)
		r := &recorder{}
		client := newServer(t).client(t, &primitives.Options{Logger: zap.New(log), Tracer: r.tracer()})
		object := client.Core().NewObject("rate limiter", "x", "hash")
		for range 3 {
			object.ReportMismatch("Rate", "9 in 1s", "5 in 1s")
		}
		synctest.Wait()
		object.ReportMismatch("Rate", "9 in 1s", "6 in 1s")
		synctest.Wait()
		want := trace.Mismatch{
			Object: trace.Object{Kind: "rate limiter", Name: "x"}, Option: "Rate", Want: "9 in 1s", Have: "5 in 1s",
		}
		other := want
		other.Have = "6 in 1s"
		require.Equal(t, []trace.Mismatch{want, other}, taken(r, &r.mismatches))
		require.Equal(t, 2, logged.Len())
		require.Equal(t, map[string]any{
			"kind": "rate limiter", "name": "x", "option": "Rate", "want": "9 in 1s", "have": "5 in 1s",
		}, logged.All()[0].ContextMap())

		for i := range 2000 {
			user := client.Core().NewObject("rate limiter", fmt.Sprint("user", i), "hash")
			user.ReportMismatch("Rate", "9 in 1s", "5 in 1s")
		}
		require.Len(t, taken(r, &r.mismatches), 1000-2)
	})
}
