package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// measured are the servers whose commands have facts, by their programs.
var measured = map[string]string{"redis-server": "redis 8.2", "valkey-server": "valkey 9.1"}

// keyless are the commands without keys whose replies luagen knows.
var keyless = strings.Fields("publish scan time")

// tableCommand is a line of a table.
type tableCommand struct{ name, marks, form string }

// commandsOf returns the commands of a server that scripts may call, and that take keys.
func commandsOf(t *testing.T, server string) (all []tableCommand) {
	t.Helper()
	for line := range strings.Lines(read(t, "internal", "check", "commands", strings.ReplaceAll(server, " ", "-")+".txt")) {
		fields := append(strings.Fields(line), "")
		marks := strings.Split(fields[2], ",")
		if fields[0] != "#" && !slices.Contains(marks, "noscript") && !slices.Contains(marks, "module") &&
			(fields[3] != "-" || slices.Contains(keyless, fields[0])) {
			all = append(all, tableCommand{fields[0], fields[2], fields[4]})
		}
	}
	return all
}

// callsOf returns calls of all commands, with the servers that know each.
func callsOf(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, program := range []string{"redis-server", "valkey-server"} {
		for _, command := range commandsOf(t, measured[program]) {
			for _, call := range command.calls() {
				all[call] = strings.TrimPrefix(all[call]+", "+measured[program], ", ")
			}
		}
	}
	return all
}

// together are options of which more than one matters.
var together = map[string][]string{
	"set":  {"set k 7 nx get", "set k 7 xx get", "set k 7 nx ex 100", "set k 7 xx ex 100", "set k 7 get ex 100"},
	"zadd": {"zadd k nx incr 1 m", "zadd k xx incr 1 m", "zadd k lt incr 1 m", "zadd k xx ch 1 m"},
}

// calls returns calls of a command: one with the fewest words, and others that differ from it in one option or choice.
func (c tableCommand) calls() []string {
	all := slices.Clone(together[c.name])
	forms, _ := variants(formPart.FindAllString(c.form, -1))
	for _, form := range forms {
		call, keys := strings.ReplaceAll(c.name, "|", " "), 0
		for i, name := range form {
			word := cmp.Or(words[c.name+" "+name], words[name], strings.ToLower(strings.TrimSuffix(name, "#")))
			switch counted, ok := strings.CutPrefix(strings.TrimRight(name, "s#"), "num"); {
			case slices.Contains(keyNames, name):
				word, keys = string(rune('k'+keys)), keys+1
			case ok && !strings.HasPrefix(counted, "-"):
				n := 0
				for _, name := range form[i:] {
					if name == counted {
						n++
					}
				}
				word = strconv.Itoa(n)
			}
			call += " " + word
		}
		if !slices.Contains(all, call) {
			all = append(all, call)
		}
	}
	return all
}

var formPart = regexp.MustCompile(`\.\.\.|[][()|,]|[^][()|,.]+`)

// variants returns the names and tokens of a form: the fewest, and then those that differ from these in one part.
func variants(parts []string) (all [][]string, rest []string) {
	var sequence [][][]string // the variants of each part
	for len(parts) > 0 {
		part := parts[0]
		parts = parts[1:]
		switch part {
		case "]", ")":
			return append(all, choices(sequence)...), parts
		case "|":
			all, sequence = append(all, choices(sequence)...), nil
		case ",":
		case "...":
			last := &sequence[len(sequence)-1]
			for _, one := range *last {
				if len(one) > 0 {
					*last = append(*last, slices.Concat(one, one))
					break
				}
			}
		case "[", "(":
			var inner [][]string
			if inner, parts = variants(parts); part == "[" {
				inner = append([][]string{nil}, inner...)
			}
			sequence = append(sequence, inner)
		default:
			sequence = append(sequence, [][]string{{part}})
		}
	}
	return append(all, choices(sequence)...), nil
}

// choices joins the first variants of all parts, and then those with another of one part.
func choices(sequence [][][]string) (all [][]string) {
	join := func(at, which int) {
		words := []string{}
		for i, part := range sequence {
			if i == at {
				words = append(words, part[which]...)
			} else {
				words = append(words, part[0]...)
			}
		}
		all = append(all, words)
	}
	join(-1, 0)
	for i, part := range sequence {
		for other := range part[1:] {
			join(i, other+1)
		}
	}
	return all
}

// keyNames are the names of keys in forms.
var keyNames = strings.Fields("key key1 key2 source destination destkey newkey src dst sourcekey storekey storedistkey")

// words are those for names in forms, or for those of one command.
var words = map[string]string{
	"field": "f", "member": "m", "member1": "m", "member2": "m", "element": "m", "pivot": "m", "value": "7", "value#": "1",
	"index#": "0", "start#": "0", "stop#": "-1", "end#": "-1", "start": "0", "stop": "-1", "offset#": "0", "bit#": "1",
	"count#": "1", "limit#": "1", "increment#": "1", "decrement#": "1", "cursor#": "0", "rank#": "1", "len#": "1",
	"num-matches#": "1", "score#": "1", "weight#": "1", "min#": "0", "max#": "9", "min": "-", "max": "+", "threshold": "9",
	"seconds#": "100", "milliseconds#": "100000", "unix-time-seconds#": "4000000000", "unix-time-milliseconds#": "4000000000000",
	"timeout#": "1", "encoding": "u8", "longitude#": "1", "latitude#": "2", "radius#": "9", "width#": "9", "height#": "9",
	"db#": "1", "destination-db#": "1", "ttl#": "0", "pattern": "*", "by-pattern": "nosort", "get-pattern": "#", "ms#": "1",
	"group": "g", "groupname": "g", "consumer": "c", "consumername": "c", "id": "0-0", "last-id": "9-9", "lastid": "9-9",
	"min-idle-time": "0", "min-idle-time#": "0", "entries-added#": "9", "entries_added#": "9", "max-deleted-id": "1-1",
	"max_deleted_entry_id": "1-1", "entriesread#": "1", "entries_read#": "1", "min-match-len#": "1", "comparison-value": "7",
	"operation": "and", "xrange start": "-", "xrevrange start": "-", "xpending start": "-", "end": "+",
	"xautoclaim start": "0-0", "setbit offset#": "1", "zcount min#": "0", "pfdebug subcommand": "encoding", "num-vertices#": "3",
}

// presets make a key K for commands of a kind.
var presets = map[string]string{
	"string": "set K 7", "list": "rpush K m", "set": "sadd K m", "zset": "zadd K 1 m", "hash": "hset K f 7",
	"stream": "xadd K 5-1 f v;xgroup create K g 0;xreadgroup group g c streams K >",
}

// preset returns what makes keys that a command is for.
func (c tableCommand) preset() string {
	for begin, preset := range map[string]string{"pf": "pfadd K m", "geo": "geoadd K 1 2 m"} {
		if strings.HasPrefix(c.name, begin) {
			return preset
		}
	}
	for _, kind := range append(strings.Split(c.marks, ","), "string") {
		if presets[kind] != "" {
			return presets[kind]
		}
	}
	return ""
}

// observer is a script that replies with the kind of the reply to a command.
const observer = `local function kind(v, inner)
  if type(v) ~= 'table' then return ({string = 'T', number = 'N', boolean = 'F'})[type(v)] end
  if v.ok or v.err then return v.ok and 'S' or 'E ' .. v.err end
  local seen, all = {}, 'L'
  for i = 1, inner and 0 or #v do seen[kind(v[i], true)] = true end
  for _, k in ipairs({'N', 'T', 'F', 'L'}) do if seen[k] then all = all .. string.lower(k) end end
  return all
end
local v = redis.pcall(unpack(ARGV))
return kind(v) .. (type(v) == 'number' and ' ' .. string.format('%.0f', v) or '')`

// observe returns what a server does by a call, without its keys, with them, and without the first of them.
func observe(t *testing.T, c *client, call, preset string) string {
	t.Helper()
	do := func(words ...string) string { return fmt.Sprint(must(c.do(words...))(t)) }
	run := func(ttl string, keys ...string) (kind, reply, exists, left string) {
		do("DEL", "k", "l", "m")
		for _, key := range keys {
			for command := range strings.SplitSeq(preset, ";") {
				do(strings.Fields(strings.ReplaceAll(command, "K", key))...)
			}
			if ttl != "" {
				do("EXPIRE", key, ttl)
			}
		}
		reply = do(append([]string{"EVAL", observer, "0"}, strings.Fields(call)...)...)
		kind, _, _ = strings.Cut(reply, " ")
		return kind, reply, do("EXISTS", "k"), do("TTL", "k")
	}
	const none, forever = "0", "-1"
	missing, _, created, end := run("")
	there, _, _, given := run("", "k", "l", "m")
	others, _, stored, until := run("", "l", "m")
	_, ending, stays, kept := run("5000", "k", "l", "m")
	does := missing + " " + there + " " + others
	for _, effect := range []struct {
		name string
		so   bool
	}{
		{"creates", created != none && end == forever || stored != none && until == forever},
		{"drops", stays != none && kept == forever},
		{"gives", given[0] != '-' || created != none && end != forever},
		{"removes", stays == none},
		{"seconds", regexp.MustCompile(`^N (5000|1.{9})$`).MatchString(ending)},
		{"milliseconds", regexp.MustCompile(`^N (4999...|5000000|1.{12})$`).MatchString(ending)},
	} {
		if effect.so {
			does += " " + effect.name
		}
	}
	return does
}
