package check

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/luagen/internal/check/flow"
	"github.com/hasp-go/hasp/luagen/internal/parse"
)

// commands checks every call of a command.
func (j *judge) commands() {
	calls := j.C.Calls()
	for _, e := range j.C.Flow.Calls {
		j.unwritten(e)
	}
	writes, sure := false, len(calls) > 0 && j.C.Escape() == nil
	for _, inc := range j.C.S.Header.Includes {
		sure = false
		j.includedWrites(inc)
	}
	for _, call := range calls {
		if len(call.Names) == 0 {
			sure = false
		}
		for _, name := range call.Names {
			for _, t := range j.C.Targets {
				if cmd := j.command(t, call, name); cmd != nil {
					writes = writes || cmd.Writes
					j.undeclared(call, cmd)
					if j.C.S.Header.ReadOnly && cmd.Writes {
						j.report(call.Words[0].Pos(), ReadOnly, "%s is not allowed in a read-only script", flow.Shown(cmd.Name))
					}
					j.arguments(call, cmd)
				} else {
					sure = false
				}
			}
		}
	}
	h := j.C.S.Header
	if sure && !writes && !j.C.S.Raw && !h.ReadOnly && !h.Library && !slices.Contains(h.Flags, "no-writes") {
		j.report(calls[0].Expr.P, ReadOnly,
			"the script only reads: say ---@readonly, or ---@allow this if it is to stay as it is")
	}
}

// unwritten finds a call without a command, or of one that is made at run time.
func (j *judge) unwritten(e *parse.CallExpr) {
	switch call, ok := j.C.CommandCall(e); {
	case !ok:
	case len(call.Words) == 0:
		j.report(e.P, Command, "a call without a command")
	case len(call.Names) == 0 && (!j.C.S.Raw || j.C.Nth(call.Words[0], "ARGV") > 0 && len(call.Words) > 1 && j.C.Nth(call.Words[1], "KEYS") > 0):
		j.report(call.Words[0].Pos(), Command,
			"the command is made at run time: write it out, or declare it with ---@command")
	}
}

// unknown finds a command that a target does not know. A name with a dot is a module's.
func (j *judge) unknown(t *flow.Table, pos parse.Pos, name string) {
	if strings.Contains(name, ".") || j.C.Elsewhere(name) {
		return
	}
	by, known := j.C.KnownBy(t.Server, name)
	says := fmt.Sprintf("%s %s does not know the command %s", flow.Title(t.Server), t.Version, flow.Shown(name))
	switch near := parse.Nearest(name, t.Names(name)); {
	case by != "":
		says += ": " + by + " does, for which say ---@since"
	case known:
	case near != "" && parse.Distance(name, near) < 3:
		says = fmt.Sprintf("there is no command %s: did you mean %s?", flow.Shown(name), strings.ReplaceAll(near, "|", " "))
	default:
		says += "; if your server does, make a table of it with luagen commands"
	}
	j.report(pos, Command, "%s", says)
}

// includedWrites finds a file with a write that a read-only script includes.
func (j *judge) includedWrites(inc *parse.Include) {
	if !j.C.S.Header.ReadOnly || inc.Script == nil || inc.Script.Body == nil {
		return
	}
	for _, inner := range inc.Script.Header.Includes {
		j.includedWrites(&parse.Include{File: inner.File, Pos: inc.Pos, Script: inner.Script})
	}
	library := flow.NewCode(inc.Script, j.C.Tables)
	for _, call := range library.Calls() {
		if library.Writes(call.Expr) {
			j.report(inc.Pos, ReadOnly, "%s calls %s, which is not allowed in a read-only script", inc.File, strings.ToUpper(call.Names[0]))
		}
	}
}

// command returns what a target knows of a command, nil if it does not know it or if what it knows
// says nothing of this call.
func (j *judge) command(t *flow.Table, call flow.CommandCall, name string) *flow.Command {
	pos := call.Words[0].Pos()
	cmd := t.Commands[name]
	if cmd == nil {
		j.unknown(t, pos, name)
		return nil
	}
	if cmd.Subs {
		sub, ok := flow.Subcommand(call)
		if !ok {
			return nil
		}
		if t.Commands[name+"|"+sub] == nil {
			j.unknown(t, call.Words[1].Pos(), name+"|"+sub)
			return nil
		}
		cmd = t.Commands[name+"|"+sub]
	}
	if cmd.Noscript {
		if j.C.Elsewhere(cmd.Name) {
			return nil
		}
		j.report(pos, Command, "%s %s does not allow %s in scripts", flow.Title(t.Server), t.Version, flow.Shown(cmd.Name))
		return nil
	}
	if cmd.Refuses(call) {
		j.unproven = append(j.unproven, func() {
			if !j.isSettled(call.Words[len(call.Words)-1]) { // a table, which was to be unpacked
				j.report(pos, Command, "wrong number of arguments for %s: %d, it takes %s", flow.Shown(cmd.Name), call.Least()-1, flow.Takes(cmd))
			}
		})
		return nil
	}
	return cmd
}
