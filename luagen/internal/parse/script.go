package parse

import (
	"bytes"
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Script is one .lua file, read.
type Script struct {
	File     string // the path as it was given
	Name     string // the file's name without .lua
	Source   []byte // normalized
	Tokens   []Token
	Comments []Comment
	Raw      bool // without annotations: it has KEYS and ARGV
	Header   *Header
	Body     *Block
	Vars     []*Var      // every local name, declared ones first
	Globals  []*NameExpr // every use of a name that is not local, in order
}

// Options says how to read scripts.
type Options struct {
	Folders  []string // are searched for files that are not in the folder of the script that includes them
	Rules    []string // what "---@allow" may name
	Raw      bool     // a script without annotations has KEYS and ARGV
	ReadOnly bool     // writes in such a script are refused
}

// Parse reads the script of the given path. If there are findings of rule syntax or limit, the script has no Body.
func Parse(file string, src []byte, opts Options) (*Script, []Finding) {
	r := &reader{opts: opts, joined: map[string]bool{}}
	return r.read(file, src), r.findings
}

// Check returns the first reason why src is not Lua 5.1, or nil. Nothing is declared in it.
func Check(src []byte) *Finding {
	tokens, _, err := lex(Normalize(src))
	_, err = (&parser{tokens: tokens, lexErr: err}).main(nil, nil)
	return err
}

// reader reads a script and what it includes.
type reader struct {
	opts      Options
	findings  []Finding
	joined    map[string]bool // files that are read, by name
	functions []string        // of the files included so far
}

func (r *reader) find(file string, pos Pos, msg, rule string) {
	r.findings = append(r.findings, Finding{file, pos, rule, msg})
}

func (r *reader) read(file string, src []byte) *Script {
	s := &Script{File: file, Source: Normalize(src), Header: &Header{}}
	s.Name = strings.TrimSuffix(filepath.Base(file), ".lua")
	r.joined[filepath.Base(file)] = true
	err := r.lex(s)
	s.Header.ReadOnly = s.Raw && (r.opts.ReadOnly || noWrites.Match(s.Source))
	h := &headerReader{file: file, header: s.Header, seen: map[string]Pos{}}
	if !s.Raw {
		h.readHeader(s.Comments, s.body())
	}
	h.allows(s, r.opts.Rules)
	if err == nil && !s.Raw {
		h.finish()
	}
	r.findings = append(r.findings, h.findings...)
	for _, inc := range s.Header.Includes {
		r.include(s, inc)
		for _, b := range s.Header.Bindings {
			if KnownGlobal(b.Name) {
				r.find(s.File, b.Pos, b.Name+" is a name of the server's own, which "+inc.File+" may use", RuleName)
			}
		}
	}
	r.parse(s, &parser{tokens: s.Tokens, lexErr: err})
	return s
}

var noWrites = regexp.MustCompile(`^#!lua .*\bno-writes\b`)

// lex reads the tokens and comments of a script. A raw one may begin with a line for the server, "#!lua".
func (r *reader) lex(s *Script) (err *Finding) {
	head, _, _ := bytes.Cut(s.Source, []byte("\n"))
	if r.opts.Raw && bytes.HasPrefix(head, []byte("#!lua")) {
		blank := bytes.Repeat([]byte(" "), len(head))
		s.Tokens, s.Comments, err = lex(slices.Concat(blank, s.Source[len(head):]))
		if s.Raw = !s.annotated(); s.Raw {
			return err
		}
	}
	s.Tokens, s.Comments, err = lex(s.Source)
	s.Raw = r.opts.Raw && !s.annotated()
	return err
}

// body returns where the code begins.
func (s *Script) body() int {
	if len(s.Tokens) > 0 {
		return s.Tokens[0].Pos.Offset
	}
	return len(s.Source)
}

// annotated reports whether an annotation stands above the code that is not the Lua language server's.
func (s *Script) annotated() bool {
	return slices.ContainsFunc(s.Comments, func(c Comment) bool {
		if c.Pos.Offset >= s.body() || !isAnnotation(c) {
			return false
		}
		word := annotationWords(c).peek()
		return word != "allow" && !slices.Contains(Words("language server"), word)
	})
}

// include reads one included file, unless it was joined before.
func (r *reader) include(s *Script, inc *Include) {
	if r.joined[inc.File] || inc.Unread {
		return
	}
	path, src, err := r.open(filepath.Dir(s.File), inc.File)
	if err != nil {
		r.find(s.File, inc.Pos, "cannot read "+inc.File, RuleHeader)
		inc.Unread = true
		return
	}
	library := r.read(path, src)
	if !library.Header.Library {
		r.find(s.File, inc.Pos, inc.File+" does not say ---@library", RuleHeader)
	}
	inc.Script = library
	if library.Body == nil {
		return
	}
	for _, stmt := range library.Body.Stmts {
		if f, ok := stmt.(*LocalFuncStmt); ok {
			r.function(s, inc, f.Var.Name)
		}
	}
}

// open returns the first file of a name in a folder, or in those that are searched.
func (r *reader) open(dir, file string) (path string, src []byte, err error) {
	for _, dir := range slices.Concat([]string{dir}, r.opts.Folders) {
		path = filepath.Join(dir, file)
		if src, err = ReadFile(path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	return path, src, err
}

// function makes a function of an included file known.
func (r *reader) function(s *Script, inc *Include, name string) {
	i := slices.IndexFunc(s.Header.Bindings, func(b *Binding) bool { return b.Name == name })
	switch {
	case i >= 0:
		r.find(s.File, s.Header.Bindings[i].Pos, name+" is a function of "+inc.File+" too", RuleName)
	case slices.Contains(r.functions, name):
		r.find(s.File, inc.Pos, "function "+name+" of "+inc.File+" is in another included file too", RuleName)
	default:
		r.functions = append(r.functions, name)
	}
}

// parse parses the code of s with the declared and included names in scope.
func (r *reader) parse(s *Script, p *parser) {
	body, err := p.main(s.Header.Bindings, r.functions)
	if err != nil {
		r.find(s.File, err.Pos, err.Msg, err.Rule)
		return
	}
	s.Body, s.Vars, s.Globals = body, p.vars, p.globals
	for _, stmt := range body.Stmts {
		if _, ok := stmt.(*LocalFuncStmt); !ok && s.Header.Library {
			r.find(s.File, stmt.Pos(), "a library holds local functions only", RuleHeader)
		}
	}
}

func (h *headerReader) allows(s *Script, rules []string) {
	meant := map[int]int{} // for each line that holds nothing but an allow, the line that it speaks of
	for _, c := range slices.Backward(s.Comments) {
		start := bytes.LastIndexByte(s.Source[:c.Pos.Offset], '\n') + 1
		if line := c.Pos.Line; isAllow(c) && len(bytes.TrimSpace(s.Source[start:c.Pos.Offset])) == 0 {
			meant[line] = cmp.Or(meant[line+1], line+1)
		}
	}
	for _, c := range s.Comments {
		if isAllow(c) {
			h.allow(c, cmp.Or(meant[c.Pos.Line], c.Pos.Line), rules)
		}
	}
}

// allow reads one of them, which speaks of a line.
func (h *headerReader) allow(c Comment, line int, rules []string) {
	w := annotationWords(c)
	w.next()
	rule, pos := w.next()
	if rule == "" {
		h.find(pos, "allow without a rule")
		return
	}
	if !slices.Contains(rules, rule) {
		h.find(pos, "allow: unknown rule %s%s", rule, suggest(rule, rules, "there are"))
		return
	}
	reason := w.rest()
	if reason == "" {
		h.find(w.pos, "allow %s without a reason", rule)
	}
	h.header.Allows = append(h.header.Allows, &Allow{rule, reason, pos, line})
}

// scriptFlags are the flags that "---@flag" may name. A server from 7.0 on takes them.
var scriptFlags = []string{"no-writes", "allow-oom", "allow-cross-slot-keys"}

func (h *headerReader) scriptFlag(w *words) {
	flag, pos := w.next()
	if !slices.Contains(scriptFlags, flag) {
		h.find(pos, "unknown flag %s%s", flag, suggest(flag, scriptFlags, "there are"))
		return
	}
	h.end(w, "write each flag as a ---@flag of its own")
	if h.once("flag "+flag, pos) {
		h.header.Flags = append(h.header.Flags, flag)
	}
}

func (h *headerReader) checkFlags() {
	if len(h.header.Flags) == 0 {
		return
	}
	at := h.seen["flag "+h.header.Flags[0]]
	switch writes := !slices.Contains(h.header.Flags, "no-writes"); {
	case h.header.Library:
		h.find(at, "a library has no flags: its scripts have")
	case writes && h.header.ReadOnly:
		h.find(at, "a read-only script with flags needs ---@flag no-writes, too: EVALSHA_RO refuses it without")
	case !writes && !h.header.ReadOnly:
		h.find(at, "a script with the flag no-writes is ---@readonly")
	}
	for _, t := range h.header.Since {
		major, _, _ := strings.Cut(t.Version, ".")
		if n, _ := strconv.Atoi(major); n < 7 {
			h.find(at, "%s takes no flags", t)
		}
	}
}
