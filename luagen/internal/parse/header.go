package parse

import (
	"slices"
	"strings"
)

// Header is what the annotations of a script declare.
type Header struct {
	Prose    []string // lines of the text at the top, "" between paragraphs
	Bindings []*Binding
	Returns  []*Result
	None     *Result   // "---@return nil": there may be none of the results
	Errors   []*Result // the codes, as names
	Since    []Target
	Includes []*Include
	Allows   []*Allow // of the whole file

	Tried []string // every name that a declaration names, good or bad

	Flags    []string // "---@flag", of the script's first line as the server gets it
	ReadOnly bool
	Repeat   bool // "---@retry safe"
	FailFast bool // "---@failfast"
	Library  bool
}

// BindingKind says which annotation declared a name.
type BindingKind string

// The annotations that declare names.
const (
	Key     BindingKind = "key"
	Arg     BindingKind = "arg"
	Command BindingKind = "command"
	Channel BindingKind = "channel"
)

// Binding is one declared name of a script.
type Binding struct {
	Kind    BindingKind
	Name    string
	Pos     Pos       // of the name
	KeyKind string    // of a Key: string, list, set, zset, hash, stream, any
	Type    Type      // of an Arg; of the others a string, with List set for a variadic key
	Per     string    // of a variadic Arg: the list whose length it has
	Prefix  bool      // of a Key or Channel: what begins with it is meant
	Choices []string  // of a Command, or of a string that must be one of them
	Fields  []*Result // of a Key that is a hash
	Text    string    // the description
	Var     *Var      // its name in the script's scope

	perPos Pos
}

// Keys returns the bindings that travel as keys, in order.
func (h *Header) Keys() []*Binding { return h.bindings(true) }

// Args returns the bindings that travel as arguments, in order.
func (h *Header) Args() []*Binding { return h.bindings(false) }

func (h *Header) bindings(keys bool) []*Binding {
	return slices.DeleteFunc(slices.Clone(h.Bindings), func(b *Binding) bool { return (b.Kind == Key) != keys })
}

// Result is one declared result, be it an error.
type Result struct {
	Name string
	Pos  Pos
	Type Type
	Text string
}

// Target is a server that the script is meant for, from a version on.
type Target struct {
	Server  string // redis, valkey, embedded
	Version string // "" for embedded
}

// String returns the target as the header writes it.
func (t Target) String() string { return strings.TrimSpace(t.Server + " " + t.Version) }

// Include is one "---@include".
type Include struct {
	File   string
	Pos    Pos
	Script *Script // nil if the file is bad, or was joined before
	Unread bool    // the file cannot be read
}

// Allow is one "---@allow".
type Allow struct {
	Rule   string
	Reason string
	Pos    Pos // of the rule
	Line   int // the line that it allows the rule on
}

// Targets reports whether the script is meant for server: it is, unless "---@since" leaves it out.
func (h *Header) Targets(server string) bool {
	return len(h.Since) == 0 || slices.ContainsFunc(h.Since, func(t Target) bool { return t.Server == server })
}
