package virtual_test

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
)

func TestMain(m *testing.M) { os.Exit(conformance.Main(m)) }

// TestEmbedded runs the whole suite in real time.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	h := virtual.Harness()
	h.Bubble = nil
	report := conformance.Run(t, h)
	if len(report.Passed)+len(report.Failed)+len(report.Skipped) < len(conformance.Cases()) {
		return // By -run.
	}
	require.Equal(t, []string{
		"channels do not move with slots",
		"the backend has no client below it",
		"the backend has pub/sub",
		"the harness cannot disturb connections",
		"the harness cannot fail over",
		"the harness cannot isolate a primary",
		"the harness cannot migrate a slot",
		"the harness cannot record commands",
		"the harness cannot restart the server",
		"the harness cannot stop the server",
		"the server does not list its clients",
		"the server is not a cluster",
	}, report.Reasons())
}

// TestHistories checks recorded histories of every primitive, in virtual time.
func TestHistories(t *testing.T) {
	t.Parallel()
	conformance.RunHistories(t, virtual.Harness())
}

// TestProperties drives every primitive beside its exact model, in virtual time.
func TestProperties(t *testing.T) {
	t.Parallel()
	conformance.RunProperties(t, virtual.Harness())
}
