package hasp_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// drivers are the modules that a user may want one of, by the adapter's folder.
var drivers = map[string]string{
	"backend/rueidis":  "github.com/redis/rueidis",
	"backend/valkey":   "github.com/valkey-io/valkey-go",
	"backend/goredis":  "github.com/redis/go-redis/v9",
	"backend/embedded": "github.com/alicebob/miniredis/v2",
}

// testOnly are modules that only our tests and programs use.
var testOnly = []string{
	"pgregory.net/rapid", "github.com/anishathalye/porcupine", "github.com/go-redsync/redsync/v4",
	"github.com/bsm/redislock", "github.com/prometheus/prometheus",
}

// TestUsersGetOneDriver loads, for each adapter, the module of a user who imports it and primitives,
// outside of the workspace, and looks at the user's go.sum.
func TestUsersGetOneDriver(t *testing.T) {
	t.Parallel()
	for adapter := range drivers {
		t.Run(strings.TrimPrefix(adapter, "backend/"), func(t *testing.T) {
			t.Parallel()
			names := userModules(t, adapter)
			require.Contains(t, names, drivers[adapter])
			for other, driver := range drivers {
				if other != adapter {
					require.NotContains(t, names, driver)
				}
			}
			for _, library := range testOnly {
				require.NotContains(t, names, library)
			}
		})
	}
}

// userModules loads a user's program and returns the modules that its go.sum names.
func userModules(t *testing.T, adapter string) []string {
	t.Helper()
	root, err := filepath.Abs(".")
	require.NoError(t, err)
	dir := t.TempDir()
	write(t, filepath.Join(dir, "go.mod"), fmt.Sprintf(`module example.com/user

go %[1]s

require (
	%[2]s v0.0.0
	%[2]s/%[3]s v0.0.0
)

replace (
	%[2]s => %[4]s
	%[2]s/%[3]s => %[4]s/%[3]s
)
`, directive(t, "go.work", "go")[0], module, adapter, root))
	write(t, filepath.Join(dir, "main.go"), fmt.Sprintf(`package main

import (
	backend %q
	%q
)

func main() {
	_, _ = backend.NewClient, primitives.New
}
`, module+"/"+adapter, module+"/primitives"))
	goCommand(t, dir, "mod", "tidy")
	goCommand(t, dir, "list", "-deps", ".") // It finds what a build would need.
	var names []string
	for line := range strings.Lines(read(t, filepath.Join(dir, "go.sum"))) {
		names = append(names, strings.Fields(line)[0])
	}
	return slices.Compact(names)
}

// stranger is what a module of a user has before hasp: a driver at the lowest version that hasp accepts, and tests with a
// testify of its own.
const stranger = `package main

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

func TestClient(t *testing.T) { require.NotNil(t, redis.NewClient(&redis.Options{})) }
`

// TestStrangersKeepTheirVersions brings hasp into a stranger's module as the pages say, with this checkout in place of the
// clone, and without "go mod tidy": the README's program and the stranger's tests build, and no version rises.
func TestStrangersKeepTheirVersions(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs(".")
	require.NoError(t, err)
	block := regexp.MustCompile("(?ms)^```shell\n(.*?)^```$").FindStringSubmatch(read(t, "docs/getting-started.md"))
	require.NotNil(t, block)
	clone, commands, _ := strings.Cut(strings.ReplaceAll(block[1], "../hasp", root), "\n")
	require.Equal(t, "git clone https://"+module+" "+root, clone)
	versions := []string{
		"github.com/stretchr/testify v1.9.0",
		drivers["backend/goredis"] + " " + requires(t, "backend/goredis/go.mod")[drivers["backend/goredis"]],
	}
	for name, c := range map[string]struct {
		lines    string
		versions []string
	}{
		"an empty module": {commands, nil},
		"a workspace":     {commands, versions},
		"go get": {fmt.Sprintf(
			"go mod edit -replace=%[1]s=%[2]s -replace=%[1]s/backend/goredis=%[2]s/backend/goredis\n"+
				"go get %[1]s@v0.0.0 %[1]s/backend/goredis@v0.0.0", module, root), versions},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := strangers(t, c.versions)
			for line := range strings.Lines(c.lines) {
				line, _, _ = strings.Cut(line, " #")
				words := strings.Fields(line)
				require.Equal(t, "go", words[0])
				goIn(t, dir, nil, words[1:]...)
			}
			goIn(t, dir, nil, "list", "-deps", "-test", ".") // It finds what a build would need.
			for _, version := range c.versions {
				name, _, _ := strings.Cut(version, " ")
				require.Contains(t, goIn(t, dir, nil, "list", "-m", name), version+"\n")
			}
		})
	}
}

// strangers returns the folder of a stranger's module that has required such versions, and now has the README's program.
func strangers(t *testing.T, versions []string) string {
	t.Helper()
	dir := t.TempDir()
	goCommand(t, dir, "mod", "init", "example.com/user")
	goCommand(t, dir, "mod", "edit", "-go="+directive(t, "go.mod", "go")[0])
	if versions != nil {
		write(t, dir+"/main_test.go", stranger)
		for _, version := range versions {
			goCommand(t, dir, "get", strings.ReplaceAll(version, " ", "@"))
		}
		goCommand(t, dir, "mod", "tidy")
	}
	program := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindStringSubmatch(read(t, "README.md"))
	require.NotNil(t, program)
	write(t, dir+"/main.go", program[1])
	return dir
}

func write(t *testing.T, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
}

func goCommand(t *testing.T, dir string, args ...string) {
	t.Helper()
	goIn(t, dir, []string{"GOWORK=off", "GOFLAGS=-mod=mod"}, args...)
}

// goIn runs the go command in a folder, and returns its output.
func goIn(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", args...)
	command.Dir = dir
	command.Env = append(os.Environ(), env...)
	out, err := command.CombinedOutput()
	require.NoError(t, err, "go %s:\n%s", strings.Join(args, " "), out)
	return string(out)
}
