package barrier_test

import (
	"crypto/sha1" //nolint:gosec // What servers know scripts by.
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// planted is a bug: a text that is in one file exactly once, and what replaces it. What is derived from
// the declaration must find it: the machines, or the histories.
type planted struct {
	name, file, good, bad, found string
}

// What finds bugs.
const (
	byMachines  = "TestDeclared/BarrierProperties"
	byHistories = "TestDeclared/BarrierHistories"
	byLimiter   = "TestLimiter/LimiterProperties"
)

func bugs() []planted {
	const (
		arrive = "internal/script/arrive.lua.go"
		renew  = "internal/script/renew.lua.go"
		take   = "internal/script/take.lua.go"
	)
	return []planted{
		{"ReleasesOneTooEarly", arrive, "#live + 1 >= tonumber(parties)", "#live + 2 >= tonumber(parties)", byMachines},
		{"DoesNotPublish", arrive, "  redis.call(publish, passed, generation)\n", "", byMachines},
		{"KeepsAnExpiredMember", arrive, "for _, other in ipairs(gone)", "for _, other in ipairs({})", byMachines},
		{"GenerationDoesNotMove", arrive, "'generation', generation + 1)", "'generation', generation)", byHistories},
		{"RenewsTheDead", renew, "ends and tonumber(ends) > now", "ends", byMachines},
		{"KeepsACancelledArrival", "barrier.go", "switch err := lease.Release(ctx); {", "switch err := error(nil); {", byMachines},
		{"BelievesEachMessage", "barrier.go", "if now > l.generation {", "if now >= l.generation {", byMachines},
		{"ChannelWithoutThePrefix", "barrier.go", `extend.SideName("barrier", b.object.Key())`,
			`extend.SideName("barrier", b.object.Name())`, byMachines},
		{"NeverRefills", take, "if taken == tonumber(permits) then", "if false then", byLimiter},
		{"BeginsTheWindowAgain", take, "if taken == tonumber(permits) then", "if true then", byLimiter},
		{"CountsTheTimeTwice", take, "return {granted, tonumber(limit) - taken, wait}",
			"return {granted, tonumber(limit) - taken, 2 * wait}", byLimiter},
		{"ForgetsTheLeft", "limiter/limiter.go", "Free: int(r.Left)", "Free: 0", byLimiter},
	}
}

// TestPlantedBugs prints what finds each bug. Without a bug the very same tests pass: they are this package's. One bug
// follows the other: compilers side by side would take the machine from the tests in real time that run meanwhile.
func TestPlantedBugs(t *testing.T) {
	if testing.Short() {
		t.Skip("make prove runs it: -short leaves it out")
	}
	for _, bug := range bugs() {
		t.Run(bug.name, func(t *testing.T) {
			out, err := search(t, bug.compile(t), bug.found)
			require.Error(t, err, "%s did not find it:\n%s", bug.found, out)
			require.Contains(t, out, "--- FAIL: "+bug.found)
			require.NotContains(t, out, "NOSCRIPT", "the script has another hash, so the bug did not even run")
			t.Logf("found by %s: %s", bug.found, verdict(out))
		})
	}
}

// compile makes a binary of these tests over the barrier with the bug, and returns its name.
func (b planted) compile(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(b.file)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(text), b.good), "%s no longer has %q once", b.file, b.good)
	require.Equal(t, string(text), rehashed(t, b.file, string(text)), "the hash as luagen makes it")
	good, err := filepath.Abs(b.file)
	require.NoError(t, err)
	dir := t.TempDir()
	bad, overlay, binary := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "planted.test")
	require.NoError(t, os.WriteFile(bad, []byte(rehashed(t, b.file, strings.Replace(string(text), b.good, b.bad, 1))), 0o600))
	list, err := json.Marshal(map[string]any{"Replace": map[string]string{good: bad}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(overlay, list, 0o600))
	out, err := exec.CommandContext(t.Context(), //nolint:gosec // Ours.
		"go", "test", "-c", "-ldflags=-s -w", "-overlay="+overlay, "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	return binary
}

// search runs a test in a binary, a few times over unless it fails. What fails is not made smaller.
func search(t *testing.T, binary, test string) (out string, err error) {
	t.Helper()
	text, err := exec.CommandContext(t.Context(), binary, //nolint:gosec // Ours.
		"-test.run=^"+strings.ReplaceAll(test, "/", "$/^")+"$", "-test.v", "-test.failfast", "-test.count=3",
		"-test.timeout="+(5*time.Minute).String(),
		"-rapid.checks=200", "-rapid.shrinktime=0s", "-rapid.nofailfile").CombinedOutput()
	return string(text), err
}

// source is a script in the file that luagen has written: its hash, the empty lines before its text, and the text.
var source = regexp.MustCompile("(?s)SHA1: \"([0-9a-f]{40})\",\n\tSource: (\"(?:\\\\n)*\") \\+ `(.*?)`,\n")

// rehashed gives a script that was changed its own hash: with another, servers would refuse it, which every test finds.
func rehashed(t *testing.T, file, text string) string {
	t.Helper()
	parts := source.FindStringSubmatch(text)
	if parts == nil {
		require.False(t, strings.HasSuffix(file, ".lua.go"), "%s: no script in luagen's form", file)
		return text
	}
	lines, err := strconv.Unquote(parts[2])
	require.NoError(t, err)
	return strings.Replace(text, parts[1], fmt.Sprintf("%x", sha1.Sum([]byte(lines+parts[3]))), 1) //nolint:gosec // As above.
}

// verdict is what the failure of a machine, a history or a case says.
func verdict(out string) string {
	failure := regexp.MustCompile(`(?:\[rapid\] (?:failed|panic) after \d+ tests|run\.go:\d+): (.*)`).FindStringSubmatch(out)
	if failure == nil {
		return ""
	}
	return failure[1]
}
