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
	keys, args := s.Header.Keys(), s.Header.Args()
	if len(s.Body.Stmts) != 1 || len(s.Tokens) < 6 || len(s.Header.Flags) > 0 {
		return ""
	}
	command := s.Tokens[5]
	code := "return redis . call ( " + command.Text
	for _, b := range append(keys, args...) {
		if b.Prefix || b.Kind == parse.Command || b.Type.List || b.Type.Optional || b.Type.Name == "bool" {
			return "" // It is not passed on as it came.
		}
		code += " , " + b.Name
	}
	var have []string
	for _, tok := range s.Tokens {
		have = append(have, tok.Text)
	}
	want, ok := plainCommands[strings.ToLower(command.Value)]
	if !ok || want >= 0 && want != len(keys) || want < 0 && len(args) > 0 ||
		strings.TrimRight(strings.Join(have, " "), " ;") != code+" )" {
		return ""
	}
	return strings.ToUpper(command.Value)
}
