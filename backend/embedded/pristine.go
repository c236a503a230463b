package embedded

import lua "github.com/yuin/gopher-lua"

// tableState is a table as it was before any script ran.
type tableState struct {
	table     *lua.LTable
	metatable lua.LValue
	fields    []field
	first     lua.LValue // the key of the first field
	last      lua.LValue // that of the last
}

type field struct {
	name  string
	value lua.LValue
}

// typeMetatable is the metatable that all values of a type share.
type typeMetatable struct{ value, metatable lua.LValue }

// remember notes the state that scripts begin with: all tables that they can reach, and what else
// they can change.
func (in *interpreter) remember() {
	seen := map[*lua.LTable]bool{}
	in.rememberTable(in.global, seen)
	for _, value := range []lua.LValue{
		lua.LTrue, lua.LNumber(0), lua.LString(""), in.lua.NewFunction(in.call), in.lua,
	} {
		in.metatables = append(in.metatables, typeMetatable{value, in.lua.GetMetatable(value)})
	}
}

func (in *interpreter) rememberTable(value lua.LValue, seen map[*lua.LTable]bool) {
	table, ok := value.(*lua.LTable)
	if !ok || seen[table] {
		return
	}
	seen[table] = true
	state := tableState{table: table, metatable: table.Metatable, last: lua.LNil}
	state.first, _ = table.Next(lua.LNil)
	for k, v := table.Next(lua.LNil); k != lua.LNil; k, v = table.Next(k) {
		state.fields = append(state.fields, field{k.String(), v})
		state.last = k
		in.rememberTable(v, seen)
	}
	in.tables = append(in.tables, state)
	in.rememberTable(table.Metatable, seen)
}

// pristine ends a run. It reports whether the next script finds what the first one found. If not,
// for instance because a script has set a global or replaced a library's function, the interpreter
// must not be used again. After an error it is not either: how gopher-lua then unwinds its stacks is
// nothing to rely on.
//
// Comparing is cheaper than it looks: there are about 150 fields, and a new interpreter costs ten
// times as much.
func (in *interpreter) pristine() bool {
	in.global.RawSetString("KEYS", lua.LNil)
	in.global.RawSetString("ARGV", lua.LNil)
	in.program, in.state = nil, nil
	if in.failed || in.lua.Env != in.global || in.lua.G.CurrentThread != in.lua {
		return false
	}
	for _, m := range in.metatables {
		if in.lua.GetMetatable(m.value) != m.metatable {
			return false
		}
	}
	for i := range in.tables {
		if !in.tables[i].holds(in.global) {
			return false
		}
	}
	return true
}

// holds reports whether the table is as it was. A table lists its fields in the order in which they
// were added first, those with a number before all others: a new one is the first or follows the last.
// env is the environment of all functions.
func (s *tableState) holds(env *lua.LTable) bool {
	if s.table.Metatable != s.metatable {
		return false
	}
	for i := range s.fields {
		value := s.table.RawGetString(s.fields[i].name)
		if value != s.fields[i].value {
			return false
		}
		if function, ok := value.(*lua.LFunction); ok && function.Env != env {
			return false
		}
	}
	first, _ := s.table.Next(lua.LNil)
	next, _ := s.table.Next(s.last)
	return first == s.first && next == lua.LNil
}
