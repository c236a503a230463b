package emit

import (
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// plainCommands take their keys first, then their arguments, and reply with an integer, a bulk
// string, a status or nil, in RESP2 as in RESP3: bare or from a script, the reply is one. The value
// is the number of keys, -1 for any.
var plainCommands = map[string]int{
	"append": 1, "decr": 1, "decrby": 1, "del": -1, "exists": -1, "expire": 1, "expireat": 1,
	"expiretime": 1, "get": 1, "getdel": 1, "getrange": 1, "getset": 1, "hdel": 1, "hexists": 1,
	"hget": 1, "hincrby": 1, "hlen": 1, "hset": 1, "hsetnx": 1, "hstrlen": 1, "incr": 1,
	"incrby": 1, "lindex": 1, "llen": 1, "lpush": 1, "lpushx": 1, "lrem": 1, "lset": 1, "ltrim": 1,
	"persist": 1, "pexpire": 1, "pexpireat": 1, "pexpiretime": 1, "psetex": 1, "pttl": 1,
	"rpush": 1, "rpushx": 1, "sadd": 1, "scard": 1, "set": 1, "setex": 1, "setnx": 1,
	"setrange": 1, "sismember": 1, "srem": 1, "strlen": 1, "ttl": 1, "type": 1, "unlink": -1,
	"zcard": 1, "zrank": 1, "zrem": 1, "zremrangebyrank": 1, "zremrangebyscore": 1, "zrevrank": 1,
}

// Plain returns the command, in capitals, that a script consists of, or "": its whole body returns
// one literal call with the keys and then the arguments, each as it came, in their order.
func Plain(s *parse.Script) string {
	call := onlyCall(s)
	if call == nil || len(s.Header.Flags) > 0 {
		return ""
	}
	name := strings.ToLower(call.Args[0].(*parse.StringExpr).Value)
	keys, args := s.Header.Keys(), s.Header.Args()
	want, ok := plainCommands[name]
	names := append(keys, args...)
	if !ok || want >= 0 && want != len(keys) || want < 0 && len(args) > 0 ||
		len(call.Args)-1 != len(names) {
		return ""
	}
	for i, b := range names {
		arg, ok := call.Args[i+1].(*parse.NameExpr)
		if !ok || arg.Var == nil || arg.Var.Decl != b {
			return ""
		}
		// These are not passed on as they came.
		if b.Prefix || b.Kind == parse.Command || b.Type.List || b.Type.Optional ||
			b.Type.Name == "bool" {
			return ""
		}
	}
	return strings.ToUpper(name)
}

// onlyCall returns the redis.call with a literal command that is all of a script, or nil.
func onlyCall(s *parse.Script) *parse.CallExpr {
	if len(s.Body.Stmts) != 1 {
		return nil
	}
	ret, ok := s.Body.Stmts[0].(*parse.ReturnStmt)
	if !ok || len(ret.Values) != 1 {
		return nil
	}
	call, ok := ret.Values[0].(*parse.CallExpr)
	if !ok || call.Method != "" || len(call.Args) == 0 {
		return nil
	}
	fn, ok := call.Fn.(*parse.IndexExpr)
	if !ok {
		return nil
	}
	lib, isName := fn.X.(*parse.NameExpr)
	member, isText := fn.Key.(*parse.StringExpr)
	_, literal := call.Args[0].(*parse.StringExpr)
	if !isName || !isText || !literal || lib.Var != nil || lib.Name != "redis" ||
		member.Value != "call" {
		return nil
	}
	return call
}
