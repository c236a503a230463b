package primitives_test

import (
	"context"
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
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives"
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
	case strings.HasPrefix(name, "owner"), name == "waiters", name == "writer": // Likewise. Others are of another kind.
		return fmt.Sprint("5f0c2a9e-0000-4000-8000-00000000000a:", turn)
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

// TestScriptsAtTheEndsOfNumbers runs each script with each number at the ends of its bounds, on nothing, on what it
// has written itself, and as the repeat of a call whose answer was lost; and with each text key holding each text that is no number, or one out of bounds. No number makes
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
					row := first + ", then " + s.replies(t, d, 2, i, edge)
					if !slices.Contains(d.args, "grant bytes") { // No grant comes twice.
						row += ", again " + s.replies(t, d, 1, i, edge)
					}
					rows[d.Name+" "+name+" "+edge] = row
				}
				for _, sum := range []string{"-1 -2147483647", "-2 -2147483647", "0 2147483647", "1 2147483647"} {
					if text, more, _ := strings.Cut(sum, " "); strings.HasPrefix(arg, "delta int(-2147483647") {
						s.do("FLUSHALL")
						s.do("SET", nthKey(0), text)
						rows[d.Name+" sum "+sum] = s.replies(t, d, 1, i, more)
					}
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

// The keys of the fair lock called x.
const fairQueue, fairTimeouts, fairDeadlines = "redisson_lock_queue:{x}", "redisson_lock_timeout:{x}", "hasp_lock_deadline:{x}"

// batches are numbers at which scripts begin another batch, and what n of them must come to.
var batches = map[string]struct {
	of   string // the script
	most int
	test func(t *testing.T, s *server, n int)
}{
	"dead before a try":    {"fair_queue", 1000, deadBeforeATry},
	"dead before a leaver": {"fair_queue", 1000, deadBeforeALeaver},
	"scores fall":          {"fair_queue", 1000, scoresFall},
	"deadlines, set right": {"fair_heal", 1000, deadlinesSetRight},
	"places, set right":    {"arrival", 1000, placesSetRight},
	"dead before a mutex":  {"mutex", 1000, deadBeforeAMutex},
	"signs of the dead":    {"mutex", 100, deadBeforeAMutex},
	"beats of one client":  {"mutex_beat", 100, beatsOfOneClient},
	"permits":              {"permit_store permit_give_back", 999, permitsTogether}, // a call takes a thousand at most
}

// TestBatches has each batch once less, once as many, and once one more, in what it is for. A script with a bound of three or four
// figures, or with as many words as it has found, has a row.
func TestBatches(t *testing.T) {
	t.Parallel()
	tested := "rate inspect_keys " // as TestRateLimiterCountsGrants and TestInspect do
	for name, b := range batches {
		tested += b.of + " "
		for n := b.most - 1; n <= b.most+1; n++ {
			subtest(t, fmt.Sprint(name, " ", n), func(t *testing.T, s *server) { b.test(t, s, n) })
		}
	}
	bounds := regexp.MustCompile(`(?m)(?:< |== |, )\d{3,4}(?: do$| or |,|$| - )|unpack\(\w+[,)]`)
	for _, path := range must(filepath.Glob(scriptDir + "*.lua"))(t) {
		name := strings.TrimSuffix(filepath.Base(path), ".lua")
		if found := bounds.Find(must(os.ReadFile(path))(t)); found != nil {
			require.Contains(t, strings.Fields(tested), name, "it has no row: %s", found)
		}
	}
}

// fill runs a script over KEYS for each i from 1 to n, with the time in milliseconds as now.
func (s *server) fill(n int, script string, keys ...string) {
	text := fmt.Sprintf("local now = %d for i = 1, %d do local w = 'w.1000:' .. i %s end", time.Now().UnixMilli(), n, script)
	s.do(append([]string{"EVAL", text, strconv.Itoa(len(keys))}, keys...)...)
}

// stays requires how many elements a key has.
func (s *server) stays(t *testing.T, want int, count ...string) {
	t.Helper()
	require.Equal(t, strconv.Itoa(want), first(s.do(count...)), "%q", count)
}

const addDead = "redis.call('rpush', KEYS[1], w) redis.call('zadd', KEYS[2], now - 1000 + i / 10, w)"

// deadBeforeATry: each script passes a thousand of them.
func deadBeforeATry(t *testing.T, s *server, n int) {
	t.Helper()
	l := s.client(t, nil).NewFairLock("x", nil)
	s.fill(n, addDead, fairQueue, fairTimeouts)
	lease := must(l.TryLock(t.Context()))(t)
	require.Equal(t, 1+n/1000, s.called("fair_acquire"))
	require.NoError(t, lease.Release(t.Context()))
	s.stays(t, 0, "EXISTS", "x", fairQueue, fairTimeouts, fairDeadlines)
}

// deadBeforeALeaver: the last waiter of a free lock leaves. It wakes the first waiter that has not expired, and not itself.
func deadBeforeALeaver(t *testing.T, s *server, n int) {
	t.Helper()
	s.hold("x", another, time.Hour)
	ctx, leave := context.WithCancel(t.Context())
	first := leased(t.Context(), s.client(t, nil).NewFairLock("x", nil).Lock)
	synctest.Wait()
	last := leased(ctx, s.client(t, nil).NewFairLock("x", nil).Lock)
	time.Sleep(time.Second)
	s.fill(n, strings.Replace(addDead, "rpush", "lpush", 1), fairQueue, fairTimeouts)
	s.lose("x")
	begin := time.Now()
	leave()
	lease := <-first
	require.Less(t, time.Since(begin), 100*time.Millisecond)
	<-last
	require.NoError(t, lease.Release(t.Context()))
	s.stays(t, 0, "EXISTS", "x", fairQueue, fairTimeouts, fairDeadlines)
}

// scoresFall: when a waiter leaves, the times of all waiters behind it fall by the time that Redisson adds for each waiter.
func scoresFall(t *testing.T, s *server, n int) {
	t.Helper()
	l := s.client(t, nil).NewFairLock("x", nil)
	s.hold("x", another, time.Minute)
	ended := beside(func() error { return errOf(l.Lock(within(t, time.Second))) })
	synctest.Wait()
	before := time.Now().UnixMilli() + 600_000
	s.fill(n, "redis.call('rpush', KEYS[1], w) redis.call('zadd', KEYS[2], now + 600000, w)", fairQueue, fairTimeouts)
	require.Error(t, <-ended)
	time.Sleep(time.Second)
	s.stays(t, n, "ZCOUNT", fairTimeouts, strconv.FormatInt(before-300_000, 10), strconv.FormatInt(before-300_000, 10))
}

// deadlinesSetRight: those that are later than the clock allows, since it was set back, are as late as it allows.
func deadlinesSetRight(t *testing.T, s *server, n int) {
	t.Helper()
	s.fill(n, `redis.call('rpush', KEYS[1], w) redis.call('zadd', KEYS[2], now + 3600000, w)
		redis.call('hset', KEYS[3], w, now + 3600000 .. ' 5000')`, fairQueue, fairTimeouts, fairDeadlines)
	right := fmt.Sprint(time.Now().UnixMilli()+1000, " 5000")
	s.do("HSET", fairDeadlines, "w.1000:999", right)
	require.ErrorIs(t, errOf(s.client(t, nil).NewFairLock("x", nil).TryLock(t.Context())), primitives.ErrNotAcquired)
	for _, deadline := range s.do("HVALS", fairDeadlines) {
		require.Contains(t, []string{fmt.Sprint(time.Now().UnixMilli()+5000, " 5000"), right}, deadline)
	}
}

// placesSetRight: a place of a millisecond's timeout counts for half a minute.
func placesSetRight(t *testing.T, s *server, n int) {
	t.Helper()
	s.fill(n, "redis.call('zadd', KEYS[1], -now - 3600000, w) redis.call('zadd', KEYS[2], i + 1 / 4096, w)", "x", "{x}:owner")
	sem := s.client(t, nil).NewCountingSemaphore("x", 1, &primitives.CountingSemaphoreOptions{Order: primitives.ByArrival})
	require.ErrorIs(t, errOf(sem.TryAcquire(t.Context())), primitives.ErrNotAcquired)
	by := strconv.FormatInt(-time.Now().UnixMilli()-30_000, 10)
	s.stays(t, n, "ZCOUNT", "x", by, by)
}

// deadBeforeAMutex: it is granted, and nothing of them is left.
func deadBeforeAMutex(t *testing.T, s *server, n int) {
	t.Helper()
	s.fill(n, "redis.call('zadd', KEYS[1], i, w) redis.call('hset', KEYS[2], w, i .. ' 1')", "hasp_mutex:{x}:queue", "hasp_mutex:{x}:signs")
	lease := must(s.client(t, nil).NewMutex("x", nil).TryLock(t.Context()))(t)
	s.stays(t, 0, "EXISTS", "hasp_mutex:{x}:queue", "hasp_mutex:{x}:signs")
	require.NoError(t, lease.Release(t.Context()))
}

// permitsTogether: they are taken, renewed and given back.
func permitsTogether(t *testing.T, s *server, n int) {
	t.Helper()
	sem := s.client(t, nil).NewPermitSemaphore("x", &primitives.PermitSemaphoreOptions{Permits: 1001})
	lease := must(sem.TryAcquire(t.Context(), n))(t)
	time.Sleep(time.Minute)
	require.Equal(t, 1001-n, must(sem.AvailablePermits(t.Context()))(t))
	require.NoError(t, lease.Release(t.Context()))
	require.Equal(t, 1001, must(sem.AvailablePermits(t.Context()))(t))
}

// beatsOfOneClient: all of its waiters keep their places.
func beatsOfOneClient(t *testing.T, s *server, n int) {
	t.Helper()
	c := s.client(t, nil)
	s.do("SET", "hasp_mutex:{x}", another, "PX", "3600000")
	for range n {
		go c.NewMutex("x", nil).Lock(t.Context())
	}
	time.Sleep(time.Minute)
	s.stays(t, n, "ZCARD", "hasp_mutex:{x}:queue")
}
