package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/luagen/internal/parse"
)

var mutationCount = flag.Int("mutations", 4000, "how many mutated texts to ask the servers about")

// TestAgreesWithServers: the parser accepts and refuses what SCRIPT LOAD accepts and refuses, on a
// corpus and on its mutations: see seeded.
func TestAgreesWithServers(t *testing.T) {
	t.Parallel()
	texts := corpus(t)
	written := len(texts)
	texts = append(texts, mutations(texts, seeded(t), *mutationCount)...)
	onServers(t, func(t *testing.T, c *client) {
		accepted := agree(t, c, texts[:written], stricter)
		accepted += agree(t, c, texts[written:], func(text, server, finding string) bool { // It does not count their registers.
			return stricter(text, server, finding) || finding == "" && strings.Contains(server, "function or expression too complex")
		})
		t.Logf("%d texts, %d of them Lua", len(texts), accepted)
		require.Greater(t, accepted, len(texts)/10)
		require.Less(t, accepted, len(texts)*9/10)
	})
}

// agree compares the parser with a server on some texts, and returns how many both accept. Where
// differ reports true of a text and of what each says, they need not agree.
func agree(t *testing.T, c *client, texts []string,
	differ func(text, server, finding string) bool,
) (accepted int) {
	t.Helper()
	for _, text := range texts {
		_, err := c.do("SCRIPT", "LOAD", text)
		finding := ""
		if f := parse.Check([]byte(text)); f != nil {
			finding = f.String()
		}
		switch {
		case err == nil && finding == "":
			accepted++
		case differ(text, fmt.Sprint(err), finding):
		default:
			require.Equal(t, err != nil, finding != "",
				"%s\n\nserver: %v\nluagen: %s", text, err, finding)
		}
	}
	return accepted
}

var nestedLong = regexp.MustCompile(`\[\[(?s:.*)\[\[`)

// stricter reports whether luagen refuses on purpose what a server may take.
func stricter(text, _, finding string) bool {
	return finding != "" && (strings.ContainsRune(text, 0) || strings.HasPrefix(text, "#!") ||
		nestedLong.MatchString(text) || strings.Contains(finding, "values after in"))
}

// corpus returns texts, good and bad: testdata/lua51.txt, parted by lines of dashes, and the
// scripts of all cases.
func corpus(t *testing.T) []string {
	t.Helper()
	texts := strings.Split(read(t, "testdata/lua51.txt"), "\n-----\n")
	for _, path := range must(filepath.Glob("testdata/cases/*/*.lua"))(t) {
		texts = append(texts, strings.TrimPrefix(read(t, path), "\xef\xbb\xbf"))
	}
	require.Greater(t, len(texts), 200)
	return append(texts, limits()...)
}

// limits returns texts on both sides of each limit of the compiler.
func limits() []string {
	var texts []string
	for _, n := range []int{190, 195, 196, 197, 198, 199, 200, 201, 205} {
		texts = append(texts,
			"return "+strings.Repeat("(", n)+"1"+strings.Repeat(")", n),
			"return "+strings.Repeat("{", n)+"1"+strings.Repeat("}", n),
			"return "+strings.Repeat("not ", n)+"1",
			"return 1"+strings.Repeat(" .. 1", n),
			"return 1"+strings.Repeat(" ^ 1", n),
			"return 1"+strings.Repeat(" + 1", n),
			strings.Repeat("do ", n)+strings.Repeat(" end", n),
			strings.Repeat("if a then ", n)+strings.Repeat(" end", n),
			"local "+names(n),
			"local "+names(n)+" local function f() end",
			"local "+names(n-1)+" for i = 1, 2 do end",
			"local "+names(n-4)+" for i = 1, 2 do end",
			"local "+names(n-3)+" for i in f do end",
			"local "+names(n-5)+" for i, j in f do end",
			"local function f("+names(n)+") end",
			"local function f("+names(n-1)+", ...) end",
			"function f:g("+names(n-1)+") end",
			globals(n)+" = 1",
			"do "+globals(n)+" = 1 end",
			"do do "+globals(n)+" = 1 end end",
		)
	}
	for _, n := range []int{58, 59, 60, 61, 62} {
		texts = append(texts,
			"local "+names(n)+" return function() return "+sumOf(n)+" end",
			"local "+names(n)+" return function() return function() return "+sumOf(n)+" end end",
			"local "+names(n)+" return function() "+names(n)+" = 1 end",
			"local "+names(n)+" return function() local v0 return "+sumOf(n)+" end",
		)
	}
	return texts
}

func names(n int) string { return list("v", n, ", ") }

func globals(n int) string { return list("g", n, ", ") }

func sumOf(n int) string { return list("v", n, " + ") }

func list(prefix string, n int, by string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf("%s%d", prefix, i)
	}
	return strings.Join(all, by)
}

var piece = regexp.MustCompile(`[A-Za-z_]\w*|\d[\w.]*|"[^"\n]*"|'[^'\n]*'|\s+|(?s:.)`)

// vocabulary is what mutations put in.
var vocabulary = strings.Split(`and break do else elseif end false for function if in local nil not or
repeat return then true until while + - * / % ^ # == ~= <= >= < > = ( ) { } [ ] ; : , . .. ... x f 1
0x1F 1e3 'a' "b" [[c]] [=[d]=] -- --[[ ]] \n \\ ' " \300 ~ ! @ $ & é goto :: 3..2 .5 5. 0x 1e a.b
f() f{} f'x' self arg`, " ")

// mutations returns n texts that differ a little from some of texts.
func mutations(texts []string, r *rand.Rand, n int) []string {
	var all []string
	for len(all) < n {
		text := texts[r.IntN(len(texts))]
		if len(text) > 2000 {
			continue
		}
		pieces := piece.FindAllString(text, -1)
		for range 1 + r.IntN(3) {
			pieces = mutate(pieces, texts, r)
		}
		all = append(all, strings.Join(pieces, ""))
	}
	return all
}

// mutate changes one place.
func mutate(pieces, texts []string, r *rand.Rand) []string {
	if len(pieces) == 0 {
		return pieces
	}
	i := r.IntN(len(pieces))
	word := strings.ReplaceAll(vocabulary[r.IntN(len(vocabulary))], "\\n", "\n")
	switch r.IntN(7) {
	case 0:
		return slices.Delete(pieces, i, i+1)
	case 1:
		return slices.Insert(pieces, i, pieces[i])
	case 2:
		pieces[i] = word
	case 3:
		return slices.Insert(pieces, i, " ", word, " ")
	case 4:
		j := r.IntN(len(pieces))
		pieces[i], pieces[j] = pieces[j], pieces[i]
	case 5:
		return slices.Insert(pieces, i, string([]byte{byte(1 + r.IntN(255))}))
	case 6:
		return slices.Insert(pieces, i, "\n"+texts[r.IntN(200)]+"\n")
	}
	return pieces
}
