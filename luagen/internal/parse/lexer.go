package parse

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Kind is the class of a [Token].
type Kind int

// The classes of tokens.
const (
	EOF Kind = iota
	Name
	Keyword
	Op
	Number
	String
)

// Token is one word of Lua.
type Token struct {
	Kind  Kind
	Text  string // as written; for a name, keyword or operator its identity
	Value string // of a String, with its escapes resolved
	Pos   Pos
	End   int // offset behind it

	endLine int
}

// is reports whether the token is the given keyword or operator.
func (t Token) is(text string) bool { return (t.Kind == Keyword || t.Kind == Op) && t.Text == text }

// Comment is one comment, its dashes included.
type Comment struct {
	Text string
	Pos  Pos
	End  int  // offset behind it
	Long bool // of the form --[[ ]]
}

var keywords, operators = Words("keywords"), Words("operators")

// collected are the characters that Lua collects for a numeral.
var collected = regexp.MustCompile(`^[0-9.]+(?:[eE][+-]?)?\w*`)

// numeral is what C's strtod and strtoul accept of them.
var numeral = regexp.MustCompile(`^(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|0[xX][0-9a-fA-F]+(?:[pP][0-9]+)?)$`)

// lexer splits a normalized text. It panics with the first fault, a *Finding, which [lex] and the parser catch.
type lexer struct {
	text      string // tokens are parts of it
	at        int
	line      int
	lineStart int
	tokens    []Token
	comments  []Comment
}

// lex returns the tokens of src, the last of them EOF, and its comments.
func lex(src []byte) (tokens []Token, comments []Comment, err *Finding) {
	l := &lexer{text: string(src), line: 1}
	defer func() { tokens, comments, err = l.tokens, l.comments, caught(recover()) }()
	l.refuseBytes()
	for l.next() {
	}
	return
}

// caught returns the fault of a panic, nil if there was none. Of anything else the panic goes on.
func caught(recovered any) *Finding {
	err, ok := recovered.(*Finding)
	if recovered != nil && !ok {
		panic(recovered)
	}
	return err
}

func fail(pos Pos, format string, args ...any) { refuse(RuleSyntax, pos, format, args...) }

func refuse(rule string, pos Pos, format string, args ...any) {
	panic(&Finding{"", pos, rule, fmt.Sprintf(format, args...)})
}

// refuseBytes refuses what a text may not hold anywhere, or not begin with.
func (l *lexer) refuseBytes() {
	if strings.HasPrefix(l.text, "\xef\xbb\xbf") {
		fail(l.pos(), "byte order mark: the server refuses it; save the file without")
	}
	if strings.HasPrefix(l.text, "#!") {
		fail(l.pos(), "a script with annotations has no shebang line: write ---@flag")
	}
	if i := strings.IndexByte(l.text, 0); i >= 0 {
		l.skip(i)
		fail(l.pos(), "NUL byte")
	}
}

func (l *lexer) pos() Pos { return Pos{l.at, l.line, l.at - l.lineStart + 1} }

// peek returns the byte n places ahead, 0 behind the end: the text holds no NUL.
func (l *lexer) peek(n int) byte {
	if l.at+n < len(l.text) {
		return l.text[l.at+n]
	}
	return 0
}

// skip goes n bytes on, counting lines.
func (l *lexer) skip(n int) {
	for range n {
		if l.text[l.at] == '\n' {
			l.line++
			l.lineStart = l.at + 1
		}
		l.at++
	}
}

func (l *lexer) emit(kind Kind, pos Pos, value string) {
	if n := len(l.tokens); n == cap(l.tokens) { // room for as many as the rest has if it is like the text before
		l.tokens = slices.Grow(l.tokens, 16+min(2*n, n*(len(l.text)-pos.Offset)/max(pos.Offset, 1)))
	}
	l.tokens = append(l.tokens, Token{kind, l.text[pos.Offset:l.at], value, pos, l.at, l.line})
}

// next reads one token or comment, and reports whether there may be more.
func (l *lexer) next() bool {
	for strings.IndexByte(" \t\n\v\f", l.peek(0)) >= 0 && l.at < len(l.text) {
		l.skip(1)
	}
	pos, c := l.pos(), l.peek(0)
	switch {
	case l.at == len(l.text):
		l.emit(EOF, pos, "")
		return false
	case c == '-' && l.peek(1) == '-':
		l.comment(pos)
	case isLetter(c):
		l.word(pos)
	case isDigit(c), c == '.' && isDigit(l.peek(1)):
		l.number(pos)
	case c == '"' || c == '\'':
		l.quoted(pos, c)
	case c == '[' && l.peek(1) == '[', c == '[' && l.peek(1) == '=':
		l.emit(String, pos, l.long(pos, "string"))
	default:
		l.operator(pos)
	}
	return true
}

// comment reads a comment. The "---@allow" at the end of another annotation is a comment by itself.
func (l *lexer) comment(pos Pos) {
	annotation := strings.HasPrefix(l.text[l.at:], "---@")
	l.skip(2)
	long := opening.MatchString(l.text[l.at:])
	if long {
		l.long(pos, "comment")
	}
	for !long && l.at < len(l.text) && l.text[l.at] != '\n' && !(annotation && strings.HasPrefix(l.text[l.at:], " ---@allow ")) {
		l.at++
	}
	l.comments = append(l.comments, Comment{l.text[pos.Offset:l.at], pos, l.at, long})
}

// opening is the bracket at the front of a long string or comment.
var opening = regexp.MustCompile(`^\[=*\[`)

// long reads a long string or comment and returns its content.
func (l *lexer) long(pos Pos, what string) string {
	bracket := opening.FindString(l.text[l.at:])
	if bracket == "" {
		fail(pos, "malformed long string: the server expects [[ or [=[")
	}
	l.skip(len(bracket))
	if l.peek(0) == '\n' {
		l.skip(1)
	}
	start := l.at
	closing := strings.ReplaceAll(bracket, "[", "]")
	length := strings.Index(l.text[start:], closing)
	if length < 0 {
		fail(pos, "unfinished long %s", what)
	}
	content := l.text[start : start+length]
	if i := strings.Index(content, "[["); bracket == "[[" && i >= 0 {
		l.skip(i)
		fail(l.pos(), "[[ inside [[ ]]: some servers refuse it; write [=[ ]=] around")
	}
	l.skip(length + len(closing))
	return content
}

func (l *lexer) word(pos Pos) {
	for isLetter(l.peek(0)) || isDigit(l.peek(0)) {
		l.at++
	}
	kind := Name
	if slices.Contains(keywords, l.text[pos.Offset:l.at]) {
		kind = Keyword
	}
	l.emit(kind, pos, "")
}

func (l *lexer) number(pos Pos) {
	text := collected.FindString(l.text[l.at:])
	if !numeral.MatchString(text) {
		fail(pos, "malformed number %s", text)
	}
	l.skip(len(text))
	l.emit(Number, pos, "")
}

func (l *lexer) quoted(pos Pos, quote byte) {
	var value []byte
	l.skip(1)
	for l.peek(0) != quote {
		switch c := l.peek(0); {
		case l.at == len(l.text), c == '\n':
			fail(pos, "unfinished string")
		case c == '\\':
			value = append(value, l.escape(pos))
		default:
			value = append(value, c)
			l.skip(1)
		}
	}
	l.skip(1)
	l.emit(String, pos, string(value))
}

var escapes = map[byte]byte{'a': '\a', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t', 'v': '\v'}

var decimal = regexp.MustCompile(`^[0-9]{1,3}`)

// escape reads one escape sequence. As in Lua 5.1, an unknown one stands for its character.
func (l *lexer) escape(start Pos) byte {
	pos := l.pos()
	l.skip(1)
	if l.at == len(l.text) {
		fail(start, "unfinished string")
	}
	if digits := decimal.FindString(l.text[l.at:]); digits != "" {
		n, _ := strconv.Atoi(digits)
		if n > 255 {
			fail(pos, `escape \%d is larger than 255`, n)
		}
		l.skip(len(digits))
		return byte(n)
	}
	c := l.peek(0)
	l.skip(1)
	return cmp.Or(escapes[c], c)
}

func (l *lexer) operator(pos Pos) {
	c := l.peek(0)
	for _, op := range operators {
		if op[0] == c && strings.HasPrefix(l.text[l.at:], op) {
			l.skip(len(op))
			l.emit(Op, pos, "")
			return
		}
	}
	if c >= ' ' && c < 0x7f {
		fail(pos, "unexpected %q", rune(c))
	}
	fail(pos, "unexpected byte 0x%02x", c)
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' }

func isDigit(c byte) bool { return c >= '0' && c <= '9' }
