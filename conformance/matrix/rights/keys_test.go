package rights

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/backend/embedded"
	"github.com/hasp-go/hasp/conformance/matrix/cells"
	"github.com/hasp-go/hasp/conformance/must"
	"github.com/hasp-go/hasp/primitives"
)

// keyless are the commands of our scripts that take no key. Of any other the first argument is one.
var keyless = []string{"time", "publish", "spublish"}

// spy is put before a script: every command is written to the key luagen-spy, with its first
// argument. It stays on the first line, so no line moves.
const spy = `local real = redis; local redis = {}; for k, v in pairs(real) do redis[k] = v end; ` +
	`local function spied(by) return function(...) local name, key = ...; ` +
	`real.call('rpush', 'luagen-spy', string.lower(name), key or ''); return real[by](...) end end; ` +
	`redis.call = spied('call'); redis.pcall = spied('pcall'); `

// lostReply begins the names of locks whose acquires get no reply.
const lostReply = "lost reply "

// recorder sees which keys each script touches on the embedded server.
type recorder struct {
	cells.Runner
	server *embedded.Server

	mu      sync.Mutex
	touched map[string]map[int]bool // by script: the places of KEYS that were touched
	faults  []string
	names   map[string]bool // the keys as ~key, and the channels as &channel

	// before, unless it is nil, is called before a script. What it returns is called after it, with the commands
	// that the script called.
	before func(c backend.Call) (after func(calls []string))
}

// run runs the script with the spy, and alone among all.
func (r *recorder) run(ctx context.Context, c backend.Call) (backend.Reply, error) {
	if c.Script.Name == "read_release_all" {
		time.Sleep(time.Second) // Virtual: writers of the same locks go first.
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	script := c.Script
	c.Script = backend.NewScript(script.Name, spy+script.Source, script.Keys, script.Retry)
	if script.Retry == backend.RetryReadOnly {
		c.Script.Retry = backend.RetryNever // the spy itself writes
	}
	after := func([]string) {}
	if r.before != nil {
		after = r.before(backend.Call{Script: script, Keys: c.Keys, Args: c.Args})
	}
	reply, err := r.Good(ctx, c)
	if spyErr := must.Catch(func() { after(r.note(script, c.Keys)) }); spyErr != nil {
		r.faults = append(r.faults, spyErr.Error())
	}
	if strings.HasSuffix(script.Name, "_acquire") && strings.HasPrefix(c.Keys[0], lostReply) {
		return backend.Reply{}, backend.Indeterminate(errors.New("EOF"))
	}
	return reply, err
}

// note compares what was touched with the keys that were given, and returns which commands were called.
func (r *recorder) note(script *backend.Script, keys []string) (calls []string) {
	words := must.Get(must.Get(r.server.Do("LRANGE", "luagen-spy", "0", "-1")).Items())
	must.Get(r.server.Do("DEL", "luagen-spy"))
	if r.touched[script.Name] == nil {
		r.touched[script.Name] = map[int]bool{}
	}
	for pair := range slices.Chunk(words, 2) {
		name, key := must.Get(pair[0].Text()), must.Get(pair[1].Text())
		calls = append(calls, name)
		switch {
		case strings.HasSuffix(name, "publish"):
			r.names["&"+key] = true
		case name != "time":
			r.names["~"+key] = true
		}
		place := slices.Index(keys, key)
		if place < 0 { // What begins with a key may be declared, too.
			place = slices.IndexFunc(keys, func(declared string) bool {
				return strings.HasPrefix(key, declared+":")
			})
		}
		switch {
		case slices.Contains(keyless, name):
		case place < 0:
			r.faults = append(r.faults, script.Name+": "+name+" of "+key)
		default:
			r.touched[script.Name][place] = true
		}
	}
	return calls
}

// TestScriptsTouchWhatTheyDeclare runs each script of the primitives: the keys that it touches are
// the declared ones, all of them, and no others. Of a list of keys all are one.
func TestScriptsTouchWhatTheyDeclare(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, client := newRecorder(t)
		r.useAll(t, client)
		require.Empty(t, r.faults)
		for name, text := range scripts(t) {
			if !strings.Contains(text, "---@library") && name != "rights_missing" { // It only asks about its key.
				declared := strings.Count("\n"+text, "\n---@key ")
				touched := map[int]bool{}
				for place := range r.touched[name] {
					touched[min(place, declared-1)] = true // All of a list, which is the last, are one.
				}
				require.Len(t, touched, declared, "%s: which of its keys were touched", name)
			}
		}
	})
}

// newRecorder returns a client on an embedded server, and what sees its scripts.
func newRecorder(t *testing.T) (*recorder, *primitives.Client) {
	t.Helper()
	server := embedded.NewServer()
	b := must.Get(embedded.New(server, nil))
	r := &recorder{server: server, touched: map[string]map[int]bool{}, names: map[string]bool{}}
	r.Backend, r.Instead = b, r.run
	return r, cells.Over(t, r, nil)
}

// useAll makes the client run each of its scripts, and closes it. Whether Close's releases of writers with readers of
// their own are sent together, the scheduler decides: other clients follow until they were.
func (r *recorder) useAll(t *testing.T, client *primitives.Client) {
	t.Helper()
	use := useAll
	for ; !r.touched["write_release_all"][1]; client, use = cells.Over(t, r, nil), useJointReleases {
		require.NoError(t, must.Catch(func() { use(t.Context(), client) }))
		require.NoError(t, client.Close(t.Context()))
	}
}
