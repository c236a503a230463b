package backend

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ServerError is an error reply of the server.
type ServerError struct {
	// Code is the error's first word if that is in upper case, such as WRONGTYPE; else ERR.
	Code string
	// Message is the rest of the text, as the server worded it, without what it puts around the
	// errors of scripts: the script's hash, the line, a stack trace.
	Message string
	// Line is the line of the script's file that raised the error; 0 if none is known.
	Line int
}

// Error returns the code and the message.
func (e *ServerError) Error() string { return e.Code + " " + e.Message }

// ParseServerError returns the error reply with the given text, which may begin with '-'. It knows
// how Redis, Valkey and miniredis word the errors of scripts: there the code may stand inside, and
// the line with it. It is for adapters; nothing else looks at an error's text (R6).
func ParseServerError(text string) *ServerError {
	text = strings.TrimPrefix(text, "-")
	for _, parse := range []func(string) *ServerError{
		parseRaised, parseRaised6, parseMiniredis, parseCompile,
	} {
		if e := parse(text); e != nil {
			return e
		}
	}
	e := &ServerError{}
	e.Code, e.Message = splitCode(text)
	return e
}

// raised matches an error at run time since Redis 7: "WRONGTYPE Operation against a key holding
// the wrong kind of value script: 3f78...2, on @user_script:12.", and with error() in the script
// "ERR user_script:12: text script: 3f78...2, on @user_script:12." Valkey 9.1 leaves the hash out:
// "... script: on @user_script:12."
var raised = regexp.MustCompile(`^(.*) script: (?:[^ ]+, )?on @user_script:(\d+)\.$`)

func parseRaised(text string) *ServerError {
	m := raised.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	e := &ServerError{Line: number(m[2])}
	e.Code, e.Message = splitCode(m[1])
	e.Message = position.ReplaceAllString(e.Message, "")
	return e
}

// raised6 matches an error at run time before Redis 7: "ERR Error running script (call to
// f_3f78...2): @user_script:12: WRONGTYPE Operation ...".
var raised6 = regexp.MustCompile(
	`^(?:ERR )?Error running script \(call to [^ ]+\): @user_script:(\d+): (.*)$`)

func parseRaised6(text string) *ServerError {
	m := raised6.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	e := &ServerError{Line: number(m[1]), Code: "ERR"}
	if e.Message = position.ReplaceAllString(m[2], ""); e.Message == m[2] {
		e.Code, e.Message = splitCode(m[2]) // without a position of its own: of redis.call
	}
	return e
}

// position is what Lua's error() puts before its text, and Redis 6 before texts of its own.
var position = regexp.MustCompile(`^@?user_script: ?\d+: `)

// miniredis matches an error at run time in miniredis, a traceback on one line: "ERR Error
// compiling script (new function): :12: WRONGTYPE Operation ... stack traceback:  [G]: in function
// 'call'  :12: in main chunk  [G]: ?". The name before the first colon differs by version.
var miniredis = regexp.MustCompile(
	`^(?:ERR )?Error compiling script [^:]*: (?:[^ :]*:(\d+): )?(.*?) ?stack traceback: (.*)$`)

// guarded matches the traceback of an error that miniredis's own Lua raised, to keep scripts from
// global variables: the script's line comes second.
var guarded = regexp.MustCompile(`in function <[^>]*:\d+> +[^ :]*:(\d+): `)

func parseMiniredis(text string) *ServerError {
	m := miniredis.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	e := &ServerError{Line: number(m[1]), Code: "ERR", Message: m[2]}
	if strings.HasPrefix(strings.TrimSpace(m[3]), "[G]: in function 'call'") {
		e.Code, e.Message = splitCode(m[2])
	}
	own := guarded.FindStringSubmatch(m[3])
	if own != nil && strings.HasPrefix(m[2], "Script attempted to") {
		e.Line = number(own[1])
	}
	return e
}

// compile matches an error on loading: "user_script:12: '<eof>' expected near '1'", and in
// miniredis "user_script line:12(column:10) near '1':   syntax error".
var compile = regexp.MustCompile(
	`^(?:ERR )?(Error compiling script [^:]*: [^ ]*?(?::| line:)(\d+)[:(].*)$`)

func parseCompile(text string) *ServerError {
	m := compile.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	return &ServerError{Line: number(m[2]), Code: "ERR", Message: strings.TrimSpace(m[1])}
}

// number returns the value of digits, or 0 for none or too many.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

func splitCode(text string) (code, message string) {
	first, rest, _ := strings.Cut(text, " ")
	if first != "" && strings.IndexFunc(first, notCode) < 0 {
		return first, rest
	}
	return "ERR", text
}

func notCode(r rune) bool {
	return (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_'
}

// refusals are the texts of errors that servers have no code for.
var refusals = map[error][]string{
	ErrOverflow: {
		"increment or decrement would overflow", "increment would produce NaN or Infinity",
		"increment would overflow",
	},
	ErrNotANumber: {"value is not an integer or out of range", "value is not a valid float"},
	// Of servers ("CROSSSLOT Keys in request don't hash to the same slot"), and of proxies that have no code for it.
	ErrCrossSlot: {"same slot"},
	// Of a command; then of one within a script since Redis 7, and before; then of what scripts ask for permissions with,
	// which Redis 7 brought.
	ErrNotSupported: {
		"unknown command", "Unknown Redis command called from", "Invalid command passed to redis.acl_check_cmd",
		"attempt to call field 'acl_check_cmd'", "lacks redis.acl_check_cmd",
	},
	// Of Redis 7.0's scripts, and of those of Valkey and later Redis, which have the code ERR or NOPERM.
	ErrNoPermission: {"The user executing the script can't", "ACL failure in script"},
	// Since Redis 7.2 and in Valkey; then of Redis 6 and 7.0, before the script and within it.
	ErrKeyDenied: {
		"No permissions to access a key", "no permissions to access one of the keys",
		"can't access at least one of the keys",
	},
}

// Is reports whether target is the [ScriptError] of the code, or the error's class: [ErrOverflow], [ErrNotANumber],
// [ErrCrossSlot], [ErrNotSupported], [ErrNoPermission] or [ErrKeyDenied], which servers, or proxies before them,
// distinguish by their texts only, but for the code NOPERM.
func (e *ServerError) Is(target error) bool {
	if code, ok := target.(ScriptError); ok {
		return string(code) == e.Code
	}
	if target == ErrNoPermission && e.Code == "NOPERM" {
		return true
	}
	return slices.ContainsFunc(refusals[target], func(text string) bool {
		return strings.Contains(e.Message, text)
	})
}
