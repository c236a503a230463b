package conformance_test

import (
	"context"
	"crypto/sha1" //nolint:gosec // What servers know scripts by.
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// program is a test binary, and what is added to its environment.
type program struct {
	binary string
	env    []string
}

// plant puts s into a program of the tests that must find it. A bug in Go is compiled into a program of its own.
// A bug in a script needs none: the program without bugs reads the changed script from a file.
func (s seed) plant(ctx context.Context, dir string, good *builds) (p program, err error) {
	text, bad, err := s.apply()
	if err != nil {
		return p, err
	}
	if source, ok := newScript(text, bad); ok && s.found.dir == virtual {
		name := strings.TrimSuffix(filepath.Base(s.file), ".lua.go")
		list, told := filepath.Join(dir, "scripts.json"), map[string]string{name: source}
		p.env = []string{"HASP_PLANTED=" + list}
		if err = writeJSON(list, told); err != nil {
			return p, err
		}
		p.binary, err = good.of(ctx, s.found)
		return p, err
	}
	path, err := filepath.Abs(s.path())
	if err != nil {
		return p, err
	}
	p.binary = filepath.Join(dir, "seeded.test")
	planted, overlay := filepath.Join(dir, "planted.go"), filepath.Join(dir, "overlay.json")
	err = errors.Join(
		os.WriteFile(planted, []byte(rehash(bad)), 0o600),
		writeJSON(overlay, map[string]map[string]string{"Replace": {path: planted}}))
	if err != nil {
		return p, err
	}
	all, err := good.partsOf(ctx, s.found)
	if err != nil {
		return p, err
	}
	if err = all.relink(ctx, dir, path, planted, p.binary); errors.Is(err, errVisible) {
		err = s.found.compile(ctx, p.binary, "-overlay="+overlay)
	}
	return p, err
}

func writeJSON(file string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func (s seed) path() string { return filepath.Join("../primitives", s.file) }

// apply returns the file without the bug, and with it.
func (s seed) apply() (good, bad string, err error) {
	text, err := os.ReadFile(s.path())
	if err != nil {
		return "", "", err
	}
	good, bad = string(text), string(text)
	for _, edit := range s.edits {
		if n := strings.Count(bad, edit[0]); n != 1 {
			return "", "", fmt.Errorf("the seed no longer fits: %s has %q %d times", s.file, edit[0], n)
		}
		lost := 0 // The lines after it keep their numbers, where that is simple: other packages know these.
		if strings.HasSuffix(edit[0], "\n") {
			lost = max(0, strings.Count(edit[0], "\n")-strings.Count(edit[1], "\n"))
		}
		bad = strings.Replace(bad, edit[0], edit[1]+strings.Repeat("\n", lost), 1)
	}
	return good, bad, nil
}

// generated is what luagen writes of a script: its source, and the hash of that.
var generated = regexp.MustCompile("(?s)(Source = `(.*?)`\n\nconst \\w+SHA1 = )\"[0-9a-f]{40}\"")

// newScript returns the script of a generated file that was changed, if nothing else was.
func newScript(good, bad string) (source string, ok bool) {
	was, is := generated.FindStringSubmatch(good), generated.FindStringSubmatch(bad)
	if was == nil || is == nil || strings.Replace(good, was[2], is[2], 1) != bad {
		return "", false
	}
	return is[2], true
}

// rehash gives a generated script that was changed its own hash.
func rehash(text string) string {
	return generated.ReplaceAllStringFunc(text, func(found string) string {
		part := generated.FindStringSubmatch(found)
		return fmt.Sprintf("%s%q", part[1], fmt.Sprintf("%x", sha1.Sum([]byte(part[2])))) //nolint:gosec // As above.
	})
}

// builds has the tests of the code without a bug, each compiled when somebody first asks for it.
type builds struct {
	dir   string
	made  sync.Map // of folders: functions that compile once
	parts sync.Map // likewise
}

func (b *builds) of(ctx context.Context, f finder) (binary string, err error) {
	binary = filepath.Join(b.dir, subtest(f.dir)+".test")
	ctx = context.WithoutCancel(ctx) // Others wait for it, too.
	once, _ := b.made.LoadOrStore(f.dir, sync.OnceValue(func() error { return f.compile(ctx, binary) }))
	return binary, once.(func() error)()
}

// compile makes the test binary of f's package.
func (f finder) compile(ctx context.Context, binary string, args ...string) error {
	args = append([]string{"test", "-c", "-vet=off", "-ldflags=-s -w", noInlining, "-o", binary}, append(args, ".")...)
	_, err := run(ctx, filepath.Join("..", f.dir), args...)
	return err
}

// search runs the test of a program, and each time its random walks so often, until it fails, and returns what
// it prints.
func (f finder) search(ctx context.Context, p program, runs, walks int) (string, error) {
	args := []string{
		"-test.run=^" + strings.ReplaceAll(f.test, "/", "$/^") + "$", "-test.failfast", "-test.v",
		"-test.timeout=" + foundWithin.String(), "-test.count=" + strconv.Itoa(runs),
	}
	if f.dir == virtual { // What failed is not made smaller.
		args = append(args, "-rapid.checks="+strconv.Itoa(walks), "-rapid.shrinktime=0s", "-rapid.nofailfile")
	}
	cmd := exec.CommandContext(ctx, p.binary, args...) //nolint:gosec // Ours.
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Dir = filepath.Join("..", f.dir)
	text, err := cmd.CombinedOutput()
	out := string(text)
	if err == nil && !regexp.MustCompile("--- PASS: "+f.test+" ").MatchString(out) &&
		!strings.Contains(out, "--- SKIP: ") {
		err = errors.New("there is no test " + f.test)
	}
	return out, err
}
