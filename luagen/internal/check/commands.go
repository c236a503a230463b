package check

import (
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// commands checks every call of a command.
func (j *judge) commands() {
	calls := j.c.calls()
	for _, e := range j.c.flow.calls {
		j.unwritten(e)
	}
	writes, sure := false, len(calls) > 0 && j.c.escape() == nil
	for _, inc := range j.c.s.Header.Includes {
		sure = false
		j.includedWrites(inc)
	}
	for _, call := range calls {
		if len(call.names) == 0 {
			sure = false
		}
		for _, name := range call.names {
			for _, t := range j.c.targets {
				if cmd := j.command(t, call, name); cmd != nil {
					writes = writes || cmd.writes
					j.undeclared(call, cmd)
					j.readOnly(call, cmd)
					j.arguments(call, cmd)
				} else {
					sure = false
				}
			}
		}
	}
	h := j.c.s.Header
	if sure && !writes && !j.c.s.Raw && !h.ReadOnly && !h.Library && !slices.Contains(h.Flags, "no-writes") {
		j.report(calls[0].expr.P, ReadOnly,
			"the script only reads: say ---@readonly, or ---@allow this if it is to stay as it is")
	}
}

// unwritten finds a call without a command, or of one that is made at run time.
func (j *judge) unwritten(e *parse.CallExpr) {
	switch call, ok := j.c.commandCall(e); {
	case !ok:
	case len(call.words) == 0:
		j.report(e.P, Command, "a call without a command")
	case len(call.names) == 0 && (!j.c.s.Raw || j.c.nth(call.words[0], "ARGV") > 0 && len(call.words) > 1 && j.c.nth(call.words[1], "KEYS") > 0):
		j.report(call.words[0].Pos(), Command,
			"the command is made at run time: write it out, or declare it with ---@command")
	}
}

// unknown finds a command that a target does not know. A name with a dot is a module's.
func (j *judge) unknown(t *table, pos parse.Pos, name string) {
	if strings.Contains(name, ".") || j.c.elsewhere(name) {
		return
	}
	by, known := j.c.knownBy(t.server, name)
	near := parse.Nearest(name, t.names(name))
	switch {
	case by != "":
		j.report(pos, Command, "%s %s does not know the command %s: %s does, for which say ---@since",
			title(t.server), t.version, shown(name), by)
	case known:
		j.report(pos, Command, "%s %s does not know the command %s", title(t.server), t.version, shown(name))
	case near != "" && parse.Distance(name, near) < 3:
		j.report(pos, Command, "there is no command %s: did you mean %s?", shown(name),
			strings.ReplaceAll(near, "|", " "))
	default:
		j.report(pos, Command, "%s %s does not know the command %s; if your server does, make a table of it "+
			"with luagen commands", title(t.server), t.version, shown(name))
	}
}

// readOnly finds writes in a script that says it has none.
func (j *judge) readOnly(call commandCall, cmd *command) {
	if j.c.s.Header.ReadOnly && cmd.writes {
		j.report(call.words[0].Pos(), ReadOnly, "%s is not allowed in a read-only script", shown(cmd.name))
	}
}

// includedWrites finds a file with a write that a read-only script includes.
func (j *judge) includedWrites(inc *parse.Include) {
	if !j.c.s.Header.ReadOnly || inc.Script == nil || inc.Script.Body == nil {
		return
	}
	for _, inner := range inc.Script.Header.Includes {
		j.includedWrites(&parse.Include{File: inner.File, Pos: inc.Pos, Script: inner.Script})
	}
	library := newCode(inc.Script, j.c.tables)
	for _, call := range library.calls() {
		for _, name := range call.names {
			for _, t := range j.c.targets {
				if cmd := t.of(call, name); cmd != nil && cmd.writes {
					j.report(inc.Pos, ReadOnly, "%s calls %s, which is not allowed in a read-only script",
						inc.File, strings.ToUpper(name))
				}
			}
		}
	}
}

// command returns what a target knows of a command, nil if it does not know it or if what it knows
// says nothing of this call.
func (j *judge) command(t *table, call commandCall, name string) *command {
	pos := call.words[0].Pos()
	cmd := t.commands[name]
	if cmd == nil {
		j.unknown(t, pos, name)
		return nil
	}
	if cmd.subs {
		sub, ok := subcommand(call)
		if !ok {
			return nil
		}
		if t.commands[name+"|"+sub] == nil {
			j.unknown(t, call.words[1].Pos(), name+"|"+sub)
			return nil
		}
		cmd = t.commands[name+"|"+sub]
	}
	if cmd.noscript {
		if j.c.elsewhere(cmd.name) {
			return nil
		}
		j.report(pos, Command, "%s %s does not allow %s in scripts", title(t.server), t.version, shown(cmd.name))
		return nil
	}
	if cmd.refuses(call) {
		j.unproven = append(j.unproven, func() {
			if !j.isSettled(call.words[len(call.words)-1]) { // a table, which was to be unpacked
				j.report(pos, Command, "wrong number of arguments for %s: %d, it takes %s", shown(cmd.name), call.least()-1, takes(cmd))
			}
		})
		return nil
	}
	return cmd
}
