package matrix

import (
	"context"
	"os"
	"runtime/pprof"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/conformance"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
)

// TestSoak runs everything at random, for HASP_SOAK (5s), drawn from HASP_SOAK_SEED (another one
// each time). "make soak" runs it for longer. Nothing may be left of it.
func TestSoak(t *testing.T) {
	proof(t)
	t.Parallel()
	label := t.Name()
	pprof.Do(t.Context(), pprof.Labels("test", label), func(context.Context) {
		conformance.RunSoak(t, soakCells(), soakOptions(t))
	})
	noGoroutine(t, label)
}

// soakOptions reads the environment: HASP_SOAK_ONLY has names of primitives.
func soakOptions(t *testing.T) *conformance.SoakOptions {
	t.Helper()
	o := &conformance.SoakOptions{}
	var err error
	if text := os.Getenv("HASP_SOAK"); text != "" {
		o.Duration, err = time.ParseDuration(text)
		require.NoError(t, err, "HASP_SOAK")
	}
	if text := os.Getenv("HASP_SOAK_SEED"); text != "" {
		o.Seed, err = strconv.ParseUint(text, 10, 64)
		require.NoError(t, err, "HASP_SOAK_SEED")
	}
	if text := os.Getenv("HASP_SOAK_CROWDS"); text != "" {
		o.Crowds, err = strconv.Atoi(text)
		require.NoError(t, err, "HASP_SOAK_CROWDS")
	}
	if text := os.Getenv("HASP_SOAK_ONLY"); text != "" {
		o.Only = strings.Fields(text)
	}
	return o
}

// soakCells are all cells of the matrix, and the embedded backend for every fourth turn: virtual time
// shows what takes long, and real servers what their drivers make of it.
func soakCells() (cells []conformance.SoakCell) {
	for i, c := range allCells() {
		cells = append(cells, conformance.SoakCell{
			Name: c.name(),
			Harness: func(t *testing.T) *conformance.Harness {
				t.Helper()
				return harness(c.adapter, c.topology.start(t, c.kind), variant{})
			},
		})
		if i%3 == 0 {
			cells = append(cells, conformance.SoakCell{
				Name:    "Embedded",
				Harness: func(*testing.T) *conformance.Harness { return virtual.Harness() },
			})
		}
	}
	return cells
}

// noGoroutine waits until no goroutine has the label.
func noGoroutine(t *testing.T, label string) {
	t.Helper()
	var left string
	require.Eventually(t, func() bool {
		var all strings.Builder
		require.NoError(t, pprof.Lookup("goroutine").WriteTo(&all, 1))
		left = ""
		for group := range strings.SplitSeq(all.String(), "\n\n") {
			if strings.Contains(group, `"test":"`+label+`"`) {
				left += group + "\n\n"
			}
		}
		// The test's own goroutine took the label off before it came here.
		return left == ""
	}, conformance.Patience/2, 20*time.Millisecond, "goroutines are left: %s", &left)
}
