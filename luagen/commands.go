package main

import (
	"bufio"
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hasp-go/hasp/luagen/internal/parse"
	"github.com/hasp-go/hasp/luagen/internal/serverurl"
)

// commands is "luagen commands": it prints a running server's table, in the form of those in internal/check/commands.
func commands(j *job) func() error {
	address := j.flags.String("url", "", "the server's `URL`, redis://user@host:port or rediss://...; default: that of the\n"+
		"variable "+serverurl.Variable+", which may have a password, else "+serverurl.Default)
	return func() error {
		if j.flags.NArg() > 0 {
			return usagef("commands takes no argument %s", j.flags.Arg(0))
		}
		u, err := serverurl.Parse(*address, os.Getenv(serverurl.Variable))
		if err != nil {
			return usageError{err}
		}
		table, err := commandTable(u)
		if err == nil {
			_, err = io.WriteString(j.stdout, table)
		}
		return err
	}
}

// serverConn speaks RESP2 with one server.
type serverConn struct {
	net.Conn
	r *bufio.Reader
}

// dial connects to a server, and says who asks.
func dial(u *url.URL) (*serverConn, error) {
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	connect := dialer.Dial
	if u.Scheme == "rediss" {
		connect = (&tls.Dialer{NetDialer: dialer}).Dial
	}
	conn, err := connect("tcp", u.Host)
	if err != nil {
		return nil, err
	}
	s := &serverConn{conn, bufio.NewReader(conn)}
	err = s.SetDeadline(time.Now().Add(30 * time.Second))
	if password, found := u.User.Password(); found && err == nil {
		_, err = s.do("AUTH", cmp.Or(u.User.Username(), "default"), password)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

func commandTable(u *url.URL) (string, error) {
	s, err := dial(u)
	if err != nil {
		return "", err
	}
	defer s.Close()
	head, err := s.head()
	reply, refused := s.do("COMMAND")
	forms, failed := s.forms()
	if err := cmp.Or(err, refused, failed); err != nil {
		return "", err
	}
	list, _ := reply.([]any)
	var lines []string
	for _, entry := range list {
		described := describe(entry)
		if described == nil {
			return "", errors.New("COMMAND: the server is older than Redis 6.0")
		}
		for _, line := range described {
			name, _, _ := strings.Cut(line, " ")
			lines = append(lines, strings.TrimSpace(line+" "+forms[name]))
		}
	}
	slices.Sort(lines)
	return head + "\n" + strings.Join(lines, "\n") + "\n", nil
}

type replyError string

func (e replyError) Error() string { return string(e) }

// do sends a command and returns its reply: nil, int64, string or []any.
func (s *serverConn) do(words ...string) (any, error) {
	text := fmt.Sprintf("*%d\r\n", len(words))
	for _, word := range words {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
	}
	if _, err := io.WriteString(s, text); err != nil {
		return nil, err
	}
	return s.receive()
}

func (s *serverConn) receive() (any, error) {
	line, err := s.r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	text := strings.TrimSpace(line[1:])
	switch line[0] {
	case '-':
		return nil, replyError(text)
	case '+':
		return text, nil
	case ':':
		return strconv.ParseInt(text, 10, 64)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return nil, err
	}
	if line[0] == '$' {
		data := make([]byte, n+2)
		_, err := io.ReadFull(s.r, data)
		return string(data[:n]), err
	}
	items := make([]any, n)
	for i := range items {
		if items[i], err = s.receive(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

// head returns the table's first line, "# valkey 8.0.1", or "# redis 7.0.15 without os" with the libraries that it lacks.
func (s *serverConn) head() (string, error) {
	info, err := s.do("INFO", "server")
	head, libraries := "#", parse.Listed("library ")
	for _, found := range versionLine.FindAllStringSubmatch(fmt.Sprint(info), -1) { // Valkey's own stands behind that of Redis
		head = "# " + found[1] + " " + found[2]
	}
	slices.Sort(libraries)
	reply, refused := s.do(append([]string{"EVAL", lacking, "0"}, libraries...)...)
	if lacks := texts(reply); len(lacks) > 0 {
		head += " without " + strings.Join(lacks, " ")
	}
	return head, cmp.Or(err, refused)
}

const lacking = `local all = {} for _, name in ipairs(ARGV) do
if rawget(_G, name) == nil then table.insert(all, name) end end return all`

var versionLine = regexp.MustCompile(`(?m)^(redis|valkey)_version:(\S+)`)

// describe returns the lines for one entry of COMMAND: the command and its subcommands.
func describe(entry any) []string {
	fields, _ := entry.([]any)
	if len(fields) < 7 {
		return nil
	}
	name := strings.ToLower(fmt.Sprint(fields[0])) // a module's may be large
	flags := texts(fields[2])
	marks := slices.DeleteFunc([]string{"write", "noscript", "module"}, func(flag string) bool { return !slices.Contains(flags, flag) })
	if slices.Contains(parse.Words("replicated"), name) && len(fields) >= 10 {
		marks = append(marks, "replicated")
	}
	for _, category := range texts(fields[6]) {
		for _, kind := range parse.Words("category " + category) {
			if !slices.Contains(marks, kind) {
				marks = append(marks, kind)
			}
		}
	}
	head := fmt.Sprint(name, " ", fields[1], " ", cmp.Or(strings.Join(marks, ","), "-"))
	if len(fields) < 10 { // Redis 6
		return []string{head + " " + oldSpec(fields[3:6])}
	}
	lines := []string{head + " " + cmp.Or(strings.Join(specs(fields[8]), ";"), "-")}
	subcommands, _ := fields[9].([]any)
	for _, sub := range subcommands {
		lines = append(lines, describe(sub)...)
	}
	return lines
}

// oldSpec returns the place of keys from the first, the last and the step of Redis 6.
func oldSpec(places []any) string {
	first, _ := places[0].(int64)
	last, _ := places[1].(int64)
	if first == 0 {
		return "-"
	}
	if last > 0 {
		last -= first
	}
	return fmt.Sprintf("index,%d:range,%d,%v,0", first, last, places[2])
}

func texts(reply any) []string {
	list, _ := reply.([]any)
	var all []string
	for _, item := range list {
		all = append(all, fmt.Sprint(item))
	}
	return all
}

// specs returns the key specifications, each as begin:find.
func specs(reply any) []string {
	list, _ := reply.([]any)
	var all []string
	for _, item := range list {
		if spec := fieldsOf(item); !slices.Contains(texts(spec["flags"]), "not_key") {
			all = append(all, search(spec["begin_search"])+":"+search(spec["find_keys"]))
		}
	}
	return all
}

// search writes how a specification begins or finds keys, in the server's order: "range,-1,1,0" for lastkey, keystep, limit.
func search(reply any) string {
	fields := fieldsOf(reply)
	text := fmt.Sprint(fields["type"])
	for i, word := range texts(fields["spec"]) {
		if i%2 == 1 { // The others are names.
			text += "," + word
		}
	}
	return text
}

// fieldsOf returns a map that RESP2 sent as an array.
func fieldsOf(reply any) map[string]any {
	list, _ := reply.([]any)
	fields := map[string]any{}
	for i := 0; i+1 < len(list); i += 2 {
		fields[fmt.Sprint(list[i])] = list[i+1]
	}
	return fields
}

// forms returns what COMMAND DOCS says of arguments, by the commands' names. A server older than Redis 7.0 has none.
func (s *serverConn) forms() (map[string]string, error) {
	reply, err := s.do("COMMAND", "DOCS")
	if errors.As(err, new(replyError)) {
		return nil, nil
	}
	all := map[string]string{}
	addForms(all, reply)
	return all, err
}

func addForms(all map[string]string, docs any) {
	for name, entry := range fieldsOf(docs) {
		doc := fieldsOf(entry)
		all[name] = doubled.ReplaceAllString(sequence(doc["arguments"], ","), "[$1]")
		addForms(all, doc["subcommands"])
	}
}

var doubled = regexp.MustCompile(`\[\(([^()]*)\)\]`)

// sequence writes arguments: tokens in capital letters, names of values in small ones, with # if they are numbers; [] is
// for what may be left out, | for a choice, ... for what may be repeated.
func sequence(arguments any, by string) string {
	list, _ := arguments.([]any)
	var all []string
	for _, item := range list {
		all = append(all, written(fieldsOf(item)))
	}
	return strings.Join(all, by)
}

func written(arg map[string]any) string {
	flags := texts(arg["flags"])
	optional, again := slices.Contains(flags, "optional"), slices.Contains(flags, "multiple_token")
	text := body(arg)
	if slices.Contains(flags, "multiple") && !again {
		text = grouped(text) + "..."
	}
	if token, ok := arg["token"]; ok {
		text = strings.Trim(strings.ToUpper(fmt.Sprint(token))+","+text, ",")
	}
	switch {
	case optional:
		text = "[" + text + "]"
	case again:
		text = grouped(text)
	}
	if again {
		text += "..."
	}
	return text
}

// body writes an argument without its token.
func body(arg map[string]any) string {
	name := strings.ToLower(strings.ReplaceAll(fmt.Sprint(arg["name"]), " ", "-"))
	switch arg["type"] {
	case "pure-token":
		return ""
	case "oneof":
		return "(" + sequence(arg["arguments"], "|") + ")"
	case "block":
		return sequence(arg["arguments"], ",")
	case "integer", "double", "unix-time":
		return name + "#"
	}
	return name
}

// grouped puts several arguments into brackets.
func grouped(text string) string {
	if strings.Contains(text, ",") {
		return "(" + text + ")"
	}
	return text
}
