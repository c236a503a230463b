package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// forms asks the server for the forms of its commands, by their names: what COMMAND DOCS says of arguments. A server
// older than Redis 7.0 has none.
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

// written writes one argument.
func written(arg map[string]any) string {
	flags := texts(arg["flags"])
	optional := slices.Contains(flags, "optional")
	again := slices.Contains(flags, "multiple_token")
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
