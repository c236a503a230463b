package embedded

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

// CoverLua runs tests, and counts how often each line of the scripts in a folder runs on servers of this package. It
// writes profile, which "go tool cover -html" shows, and returns the exit code of run:
//
//	func TestMain(m *testing.M) { os.Exit(embedded.CoverLua(m.Run, ".", os.Getenv("LUACOVER"))) }
//
// If profile is empty, it only runs the tests. A statement of several lines counts as its first line. A script that
// luagen made a function of is known by the SHA-1 in the generated file, any other by its text. Files that scripts
// include have no lines of their own: they are a part of the line that uses them. A script that its function sends as a
// command has none either.
//
// No script may run before. A failure is written to the standard error output, and makes the exit code 1.
func CoverLua(run func() int, folder, profile string) int {
	if profile == "" {
		return run()
	}
	covered.Store(&coverage{programs: map[string]lineCounts{}})
	code := run()
	text, err := covered.Swap(nil).profile(folder)
	if err == nil {
		err = os.WriteFile(profile, text, 0o600)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		return 1
	}
	return code
}

// covered is nil while lines are not counted.
var covered atomic.Pointer[coverage]

// coverage counts the lines of programs.
type coverage struct {
	mu       sync.Mutex
	programs map[string]lineCounts // by SHA-1
}

// lineCounts says how often lines ran.
type lineCounts map[int]*atomic.Int64

// count makes a program count its lines, if c is not nil.
func (c *coverage) count(sha string, chunk *[]ast.Stmt) lineCounts {
	if c == nil {
		return nil
	}
	counts := lineCounts{}
	counts.mark(reflect.ValueOf(chunk).Elem())
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(counts, c.programs[sha]) // which another goroutine compiles, too
	c.programs[sha] = counts
	return counts
}

// mark puts a call before the first statement of each line.
func (c lineCounts) mark(node reflect.Value) {
	statements, ok := node.Interface().([]ast.Stmt)
	if !ok {
		eachChild(node, c.mark)
		return
	}
	var marked []ast.Stmt
	for _, statement := range statements {
		if line := statement.Line(); c[line] == nil {
			c[line] = new(atomic.Int64)
			call := &ast.FuncCallStmt{Expr: callHidden(fmt.Sprintf("\x00line %d", line), statement)}
			call.SetLine(line)
			marked = append(marked, call)
		}
		marked = append(marked, statement)
	}
	for _, statement := range statements {
		c.mark(reflect.ValueOf(statement))
	}
	node.Set(reflect.ValueOf(marked))
}

// function returns the function that mark calls by a name, or nil.
func (c lineCounts) function(name string) *lua.LFunction {
	if c == nil {
		return nil
	}
	var line int
	if _, err := fmt.Sscanf(name, "\x00line %d", &line); err != nil || c[line] == nil {
		return nil
	}
	return hide(func(*lua.LState) int { c[line].Add(1); return 0 })
}

var (
	generatedSHA = regexp.MustCompile(`SHA1: "([0-9a-f]{40})"`)
	includedFile = regexp.MustCompile(`(?m)^---@include\s+(\S+)`)
)

// profile returns the lines of all scripts in a folder in the form of "go test -coverprofile".
func (c *coverage) profile(folder string) ([]byte, error) {
	folder, err := filepath.Abs(folder)
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(folder, "*.lua"))
	if err != nil {
		return nil, err
	}
	texts, included := map[string]string{}, map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		texts[path] = string(text)
		for _, match := range includedFile.FindAllStringSubmatch(string(text), -1) {
			included[filepath.Join(folder, match[1])] = true
		}
	}
	all := bytes.NewBufferString("mode: count\n")
	for _, path := range paths {
		if !included[path] {
			if err := c.lines(all, path, texts[path]); err != nil {
				return nil, err
			}
		}
	}
	return all.Bytes(), nil
}

func (c *coverage) lines(to *bytes.Buffer, path, text string) error {
	sha := sha1Hex(text)
	generated, _ := os.ReadFile(path + ".go") // There may be none.
	if found := generatedSHA.FindSubmatch(generated); found != nil {
		sha = string(found[1])
	}
	if bytes.Contains(generated, []byte("\n\tCommand: ")) && c.programs[sha] == nil {
		return nil
	}
	chunk, err := parse.Parse(strings.NewReader(text), path)
	if err != nil {
		return err
	}
	wanted := lineCounts{}
	wanted.mark(reflect.ValueOf(&chunk).Elem())
	source := strings.Split(text, "\n")
	for _, line := range slices.Sorted(maps.Keys(wanted)) {
		count := int64(0)
		if counter := c.programs[sha][line]; counter != nil {
			count = counter.Load()
		}
		fmt.Fprintf(to, "%s:%d.1,%d.%d 1 %d\n", path, line, line, len(source[line-1])+1, count)
	}
	return nil
}
