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
	"github.com/hasp-go/hasp/conformance/engine"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/matrix/virtual"
)

// TestSoak runs everything at random, for HASP_SOAK (5s), drawn from HASP_SOAK_SEED (another one
// each time). "make soak" runs it for longer. Nothing may be left of it.
func TestSoak(t *testing.T) {
	cells.Proof(t)
	t.Parallel()
	label := t.Name()
	pprof.Do(t.Context(), pprof.Labels("test", label), func(context.Context) {
		engine.RunSoak(t, conformance.Primitives(), soakCells(), soakOptions(t))
	})
	noGoroutine(t, label)
}

// soakOptions reads the environment: HASP_SOAK_ONLY has names of primitives.
func soakOptions(t *testing.T) *engine.SoakOptions {
	t.Helper()
	o := &engine.SoakOptions{}
	for name, read := range map[string]func(text string) error{
		"HASP_SOAK": func(text string) (err error) {
			o.Duration, err = time.ParseDuration(text)
			return err
		},
		"HASP_SOAK_SEED": func(text string) (err error) {
			o.Seed, err = strconv.ParseUint(text, 10, 64)
			return err
		},
		"HASP_SOAK_CROWDS": func(text string) (err error) { o.Crowds, err = strconv.Atoi(text); return err },
		"HASP_SOAK_ONLY":   func(text string) error { o.Only = strings.Fields(text); return nil },
	} {
		if text := os.Getenv(name); text != "" {
			require.NoError(t, read(text), name)
		}
	}
	return o
}

// soakCells are all cells of the matrix, and the embedded backend for every fourth turn: virtual time
// shows what takes long, and real servers what their drivers make of it.
func soakCells() (all []engine.SoakCell) {
	for i, c := range cells.All() {
		all = append(all, engine.SoakCell{
			Name:    c.Name(),
			Harness: func(t *testing.T) *conformance.Harness { t.Helper(); return c.Harness(t) },
		})
		if i%3 == 0 {
			all = append(all, engine.SoakCell{
				Name:    "Embedded",
				Harness: func(*testing.T) *conformance.Harness { return virtual.Harness() },
			})
		}
	}
	return all
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
