package embedded

import (
	"crypto/sha1"
	"encoding/hex"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/alicebob/miniredis/v2"
	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/hasp-go/hasp/backend"
)

// scripts runs the scripts of a server. Miniredis could, but it makes a new Lua interpreter for
// each, which costs more than all else. What scripts does not know, such as a script with a syntax
// error or a wrong number of words, it leaves to miniredis, which refuses it.
type scripts struct {
	mini   *miniredis.Miniredis
	inside *inside // nil: everything is left to miniredis

	// The lock of mini guards these. A script holds it from begin to end.
	known map[string]*program // by SHA-1
	spare *interpreter        // nil before the first script, and after one that it cannot survive
}

// program is a script that has been compiled.
type program struct {
	sha      string
	proto    *lua.FunctionProto // read-only
	noWrites bool               // a flag
}

// programs has the programs of all servers, by their source. A process that runs tests makes many
// servers, and they run the same few scripts.
var programs sync.Map

// compile returns the program with the given source, or nil if it does not compile.
func compile(source string) *program {
	if found, ok := programs.Load(source); ok {
		return found.(*program)
	}
	flags := ""
	if strings.HasPrefix(source, "#!lua ") {
		flags, _, _ = strings.Cut(source, "\n")
	}
	chunk, err := parse.Parse(strings.NewReader(source[len(flags):]), "<string>")
	if err != nil {
		return nil
	}
	sha := sha1Hex(source)
	counts := covered.Load().count(sha, &chunk)
	rewrite(reflect.ValueOf(chunk))
	proto, err := lua.Compile(chunk, "")
	if err != nil {
		return nil
	}
	unhide(proto, counts)
	found, _ := programs.LoadOrStore(source, &program{sha, proto, strings.Contains(flags, "no-writes")})
	return found.(*program)
}

func sha1Hex(text string) string {
	sum := sha1.Sum([]byte(text))
	return hex.EncodeToString(sum[:])
}

// do runs a command that is about scripts. It returns false if the command is left to miniredis.
func (s *scripts) do(words []string) (backend.Reply, bool, error) {
	name, readOnly := strings.CutSuffix(strings.ToUpper(words[0]), "_RO")
	eval := name == "EVAL" || name == "EVALSHA"
	if s.inside == nil || !eval && name != "SCRIPT" || len(words) < 2 || eval && len(words) < 3 {
		return backend.Reply{}, false, nil
	}
	s.mini.Lock()
	defer s.mini.Unlock()
	switch {
	case name == "EVAL":
		return s.eval(compile(words[1]), words[2:], readOnly)
	case name == "EVALSHA":
		return s.eval(s.known[words[1]], words[2:], readOnly)
	case !readOnly:
		return s.manage(strings.ToUpper(words[1]), words[2:])
	}
	return backend.Reply{}, false, nil
}

// eval runs a program, if there is one, and keeps it if it did not fail. The first of words is the number of keys.
func (s *scripts) eval(p *program, words []string, readOnly bool) (backend.Reply, bool, error) {
	if p == nil {
		return backend.Reply{}, false, nil
	}
	reply, err := s.run(p, words, readOnly)
	if err == nil {
		s.known[p.sha] = p
	}
	return reply, true, err
}

// run runs a program on the spare interpreter, or on a new one.
func (s *scripts) run(p *program, words []string, readOnly bool) (backend.Reply, error) {
	count, err := strconv.Atoi(words[0])
	switch rest := words[1:]; {
	case err != nil:
		return backend.Reply{}, backend.ParseServerError("ERR value is not an integer or out of range")
	case count < 0:
		return backend.Reply{}, backend.ParseServerError("ERR Number of keys can't be negative")
	case count > len(rest):
		return backend.Reply{}, backend.ParseServerError(
			"ERR Number of keys can't be greater than number of args")
	}
	in := s.spare
	if in == nil {
		in = newInterpreter(s.mini.Server(), s.inside)
	}
	s.spare = nil // It stays so if this panics.
	reply, err := in.run(p, words[1:1+count], words[1+count:], readOnly || p.noWrites)
	if in.pristine() {
		s.spare = in
	}
	return reply, err
}

// manage runs a subcommand of SCRIPT.
func (s *scripts) manage(subcommand string, args []string) (backend.Reply, bool, error) {
	switch {
	case subcommand == "LOAD" && len(args) == 1:
		if p := compile(args[0]); p != nil {
			s.known[p.sha] = p
			return backend.StringReply(p.sha), true, nil
		}
	case subcommand == "EXISTS" && len(args) > 0:
		return s.exist(args), true, nil
	case subcommand == "FLUSH" && (len(args) == 0 ||
		len(args) == 1 && (strings.EqualFold(args[0], "SYNC") || strings.EqualFold(args[0], "ASYNC"))):
		clear(s.known) // Miniredis forgets its own, and answers.
	}
	return backend.Reply{}, false, nil
}

func (s *scripts) exist(shas []string) backend.Reply {
	found := make([]backend.Reply, len(shas))
	for i, sha := range shas {
		found[i] = backend.IntegerReply(0)
		if s.known[sha] != nil {
			found[i] = backend.IntegerReply(1)
		}
	}
	return backend.ArrayReply(found)
}
