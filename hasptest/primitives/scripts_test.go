package primitives_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

// luaScript is a script with what its header declares.
type luaScript struct {
	*backend.Script
	names []string // of the errors that it returns
	keys  []string // the kinds of the keys
	args  []string // the names of the arguments, and after a space their types
}

var (
	declares  = regexp.MustCompile(`(?m)^---@(key|arg|command|channel|error) (\S+) ?(\S*)(.*)$`)
	boundsOf  = regexp.MustCompile(`^int(?:\((-?\d+)\.\.(-?\d+)\))?`)
	together  = map[string]int{"pairs": 2, "two keys": 2, "threes": 3, "four keys": 4} // keys of a list
	scriptDir = "../../primitives/internal/script/"
)

// declaredScripts returns all scripts that package primitives runs.
func declaredScripts(t *testing.T) (all []luaScript) {
	t.Helper()
	for _, path := range must(filepath.Glob(scriptDir + "*.lua.go"))(t) {
		d, command := luaScript{Script: &backend.Script{}}, ""
		file := must(parser.ParseFile(token.NewFileSet(), path, nil, 0))(t)
		ast.Inspect(file, func(n ast.Node) bool {
			if field, ok := n.(*ast.KeyValueExpr); ok {
				switch fmt.Sprint(field.Key) {
				case "Name":
					d.Name = literal(t, field.Value)
				case "Source":
					d.Source = literal(t, field.Value)
				case "Command":
					command = literal(t, field.Value)
				}
			}
			return true
		})
		d.Script = backend.NewScript(d.Name, d.Source, -1, backend.RetryNever)
		d.Command = command
		header := string(must(os.ReadFile(strings.TrimSuffix(path, ".go")))(t))
		for _, m := range declares.FindAllStringSubmatch(header, -1) {
			many := 1
			for words, n := range together {
				if strings.HasSuffix(m[3], "...") && strings.Contains(m[4], words) {
					many = n
				}
			}
			switch m[1] {
			case "key":
				d.keys = append(d.keys, slices.Repeat([]string{strings.TrimSuffix(m[3], "...")}, many)...)
			case "error":
				d.names = append(d.names, m[2])
			case "command":
				d.args = append(d.args, m[2]+" command")
			case "channel":
				d.args = append(d.args, m[2]+" channel")
			default:
				d.args = append(d.args, m[2]+" "+strings.TrimSuffix(strings.TrimSuffix(m[3], "..."), "?"))
			}
		}
		all = append(all, d)
	}
	return all
}

// literal returns the text of literals that are joined.
func literal(t *testing.T, e ast.Expr) string {
	t.Helper()
	if sum, ok := e.(*ast.BinaryExpr); ok {
		return literal(t, sum.X) + literal(t, sum.Y)
	}
	return must(strconv.Unquote(e.(*ast.BasicLit).Value))(t)
}

// usual returns an argument of a type, in one of several calls.
func usual(arg string, turn int) string {
	name, kind, _ := strings.Cut(arg, " ")
	kind = strings.TrimSuffix(kind, "(0..)") // A time may be so bounded.
	if m := boundsOf.FindStringSubmatch(kind); m != nil {
		least, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || least < 2 {
			return "2"
		}
		return m[1]
	}
	switch {
	case name == "grant": // Each is another, as in production.
		return fmt.Sprintf("\x10%016d\x02\x00\x00\x00", turn)
	case strings.HasPrefix(name, "owner"), name == "waiters", name == "writer": // likewise
		return fmt.Sprint(name, ":", turn)
	case name == "request":
		return "0:id"
	}
	return map[string]string{
		"milliseconds": "60000", "seconds": "60", "unixmilli": "946684860000", "float": "1.5", "bool": "1", "command": "publish",
	}[kind] + map[bool]string{true: name}[kind == "string" || kind == "channel"]
}

// edgesOf returns the numbers at both ends of what a type may be, and about those that Lua holds exactly.
func edgesOf(arg string) (all []string) {
	_, kind, _ := strings.Cut(arg, " ")
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	switch m := boundsOf.FindStringSubmatch(kind); {
	case m != nil && m[2] != "":
		least, _ = strconv.ParseInt(m[1], 10, 64)
		most, _ = strconv.ParseInt(m[2], 10, 64)
	case m != nil:
	case strings.HasPrefix(kind, "milliseconds"):
		least, most = map[bool]int64{true: 1}[kind == "milliseconds"], 100*365*24*3_600_000 // Beyond 292 years the embedded server has no times.
	case kind == "float":
		return []string{"0", "-0", "1e-320", "1.7976931348623157e+308", "-1.7976931348623157e+308", "9007199254740993"}
	default:
		return nil
	}
	for _, n := range []int64{least, 0, 1, 1<<53 - 1, 1 << 53, 1<<53 + 1, most} {
		if text := strconv.FormatInt(n, 10); least <= n && n <= most && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return all
}

// TestScriptsAtTheEndsOfNumbers runs each script with each number at the ends of its bounds, on nothing and on what it
// has written itself; and with each text key holding each text that is no number, or one out of bounds. No number makes
// a script fail by a mistake of its own, no script returns an error that it does not declare, or writes before an error. What it replies is in
// testdata/scripts.txt.
func TestScriptsAtTheEndsOfNumbers(t *testing.T) {
	virtual(t, func(t *testing.T, s *server) {
		rows := map[string]string{}
		for _, d := range declaredScripts(t) {
			for i, arg := range d.args {
				for _, edge := range edgesOf(arg) {
					s.do("FLUSHALL")
					first := s.replies(t, d, 1, i, edge)
					name, _, _ := strings.Cut(arg, " ")
					rows[d.Name+" "+name+" "+edge] = first + ", then " + s.replies(t, d, 2, i, edge)
				}
			}
			for i, kind := range d.keys {
				for _, text := range corrupt[kind] {
					s.do("FLUSHALL")
					s.do("SET", nthKey(i), text, "PX", "60000")
					rows[fmt.Sprintf("%s key %d %q", d.Name, i+1, text)] = s.replies(t, d, 1, -1, "")
				}
			}
		}
		requireRows(t, "testdata/scripts.txt", rows)
	})
}

// requireRows compares rows with a file, which HASP_WRITE=1 writes: look at it. It returns the text of the file.
func requireRows(t *testing.T, path string, rows map[string]string) string {
	t.Helper()
	var text strings.Builder
	for _, row := range slices.Sorted(maps.Keys(rows)) {
		fmt.Fprintf(&text, "%s: %s\n", row, rows[row])
	}
	if os.Getenv("HASP_WRITE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o644))
	}
	require.Equal(t, string(must(os.ReadFile(path))(t)), text.String(), "HASP_WRITE=1 go test -run %s writes this: look at it", t.Name())
	return text.String()
}

// corrupt are texts that a key may hold by mistake, by the kind that it is declared as.
var corrupt = map[string][]string{
	"string": {"", "x", "-1", "1.5", "9007199254740993", "9223372036854775808"},
	"hash":   {"x"}, "zset": {"x"}, "list": {"x"},
}

func nthKey(i int) string { return fmt.Sprintf("{x}:%d", i) }

// replies runs a script, with another i-th argument, and returns what it replies.
func (s *server) replies(t *testing.T, d luaScript, turn, i int, other string) string {
	t.Helper()
	var keys, args []string
	for k := range d.keys {
		keys = append(keys, nthKey(k))
	}
	for k, arg := range d.args {
		if args = append(args, usual(arg, turn)); k == i {
			args[k] = other
		}
	}
	before := s.contents(keys)
	reply, err := s.link.Run(t.Context(), d.Script, keys, args)
	var failed *backend.ServerError
	if errors.As(err, &failed) {
		require.Equal(t, before, s.contents(keys), "%s wrote before an error: %v %v", d.Name, err, args)
		if failed.Line > 0 {
			if i >= 0 { // Over another program's text scripts may fail so, before they write.
				require.NotRegexp(t, mistake, failed.Message, "%s %q", d.Name, args)
			}
			return failed.Code + " raised"
		}
		if !slices.Contains(commands, failed.Code) {
			require.Contains(t, d.names, failed.Code, d.Name)
		}
		return failed.Code
	}
	require.NoError(t, err)
	return shown(reply)
}

// mistake is in the errors that Lua raises. commands are the errors of commands, which scripts return as they are, and that
// of a token.
var (
	mistake  = regexp.MustCompile(`attempt to|cannot perform|bad argument|expected|nil and number`)
	commands = []string{"ERR", "WRONGTYPE", "OTHERKIND", "NOTANUMBER"}
)

// contents returns what keys hold.
func (s *server) contents(keys []string) (all []string) {
	for _, key := range keys {
		kind := s.do("TYPE", key)[0]
		read := map[string][]string{
			"string": {"GET", key}, "hash": {"HGETALL", key}, "zset": {"ZRANGE", key, "0", "-1", "WITHSCORES"}, "list": {"LRANGE", key, "0", "-1"},
		}[kind]
		if all = append(all, kind); read != nil {
			all = append(all, s.do(read...)...)
		}
	}
	return all
}

// shown returns a reply as a text.
func shown(r backend.Reply) string {
	if items, err := r.Items(); err == nil {
		var all []string
		for _, item := range items {
			all = append(all, shown(item))
		}
		return "[" + strings.Join(all, " ") + "]"
	}
	if r.IsNil() {
		return "nil"
	}
	text, _ := r.Text()
	return strconv.Quote(text)
}
