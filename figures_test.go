package hasp_test

import (
	"flag"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// update writes the figures of pages.
var update = flag.Bool("update", false, "write the figures of the benchmarks to the pages")

// TestFiguresAreMeasured compares the figures of pages with the table of the benchmarks. Each stands between two
// comments, of which the first says where it is from: workload, row, column and decimals, and the driver, unless it is
// the span of three drivers. Several rows with commas between them are cells of one row of the page.
func TestFiguresAreMeasured(t *testing.T) {
	t.Parallel()
	found := 0
	walk(t, func(page string) {
		if path.Ext(page) != ".md" {
			return
		}
		text := read(t, page)
		measured := stated.ReplaceAllStringFunc(text, func(figure string) string {
			found++
			return stated.ReplaceAllString(figure, "${1}"+current(t, stated.FindStringSubmatch(figure)[2])+"${4}")
		})
		if *update && measured != text {
			require.NoError(t, os.WriteFile(page, []byte(measured), 0o600))
			return
		}
		require.Equal(t, measured, text, "%s: run go test -run TestFiguresAreMeasured -update .", page)
	})
	require.Greater(t, found, 15)
}

// sourced are figures of the pages below that no benchmark measures, with the code where they stand.
var sourced = []struct{ figure, file, code string }{
	{"turns of 100 ms", "bench/benchmark/program.go", `"turn", 100*time.Millisecond`},
	{"128 ms at most", "primitives/spinlock.go", "max(128*time.Millisecond"},
	{"a token: about 150 bytes", "bench/memory_test.go", "a token: about 150 bytes"},
	{"about 480 bytes", "bench/memory_test.go", "about 480 bytes"},
	{"about 4 000 bytes", "bench/memory_test.go", "about 4 000 bytes"},
	{"about 60 bytes", "bench/memory_test.go", "about 60 bytes"},
	{"120 bytes for each permit in use", "bench/memory_test.go", "120 bytes for each permit in use"},
	{"about 140 bytes", "bench/memory_test.go", "about 140 bytes"},
}

// TestFiguresHaveASource finds numbers of bytes, percents and small times on the pages of costs that no benchmark
// measured, that no error has whose text stands in the same line, and that are not among sourced.
func TestFiguresHaveASource(t *testing.T) {
	t.Parallel()
	number := regexp.MustCompile(`\d[\d.,  ]*(?:(?:to|or|and) \S+ )?[  ]?(?:[µum]s|%|×|bytes?|[KMG]?i?B|times)(?:[^\pL]|$)`)
	all := ""
	for _, page := range []string{"README.md", "docs/choosing.md", "docs/benchmarks.md", "docs/operate/sizing.md"} {
		text := stated.ReplaceAllString(fence.ReplaceAllString(read(t, page), ""), "(measured)")
		text = regexp.MustCompile(`([^|])\n *([^\s|#-])`).ReplaceAllString(text, "$1 $2") // Lines of a paragraph.
		for _, s := range sourced {
			require.Contains(t, read(t, s.file), s.code, s.figure)
			text = strings.ReplaceAll(text, s.figure, "(sourced)")
		}
		for line := range strings.Lines(text) {
			for _, found := range number.FindAllString(line, -1) {
				require.True(t, isBound(t, line, found), "%s: %q has no source: %s", page, found, line)
			}
		}
		all += text
	}
	require.Equal(t, len(sourced), strings.Count(all, "(sourced)"), "a figure is on no page, or on two")
}

// isBound says whether a number is in an error's text, of which a part stands in the line, for an option of the line.
func isBound(t *testing.T, line, number string) bool {
	t.Helper()
	number = regexp.MustCompile(` |bytes?|[^\pL\pN]$`).ReplaceAllString(number, "")
	var options, problems []string
	for _, quoted := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(line, -1) {
		if strings.Contains(quoted[1], " ") {
			problems = append(problems, quoted[1])
		} else {
			options = append(options, quoted[1]+": ")
		}
	}
	contains := func(text string) func(string) bool {
		return func(part string) bool { return strings.Contains(text, part) }
	}
	for text := range strings.Lines(errorTexts(t)) {
		if slices.ContainsFunc(options, contains(text)) && slices.ContainsFunc(problems, contains(text)) &&
			regexp.MustCompile(`\b`+number+`\b`).MatchString(text) {
			return true
		}
	}
	return false
}

// stated is a figure on a page.
var stated = regexp.MustCompile(`(<!-- figure: ([^>]*) -->)([^<]*)(<!-- -->)`)

// current returns the text between two such comments, as it was measured last.
func current(t *testing.T, what string) string {
	t.Helper()
	words := strings.Fields(what)
	decimals, err := strconv.Atoi(words[3])
	require.NoError(t, err, what)
	if len(words) == 4 {
		return span(t, words[0], words[1], words[2], decimals)
	}
	var cells []string
	for _, row := range strings.Split(words[1], ",") {
		cells = append(cells, figure(measured(t, words[4], words[0], row, words[2]), decimals))
	}
	return strings.Join(cells, " | ")
}

// span returns the lowest and the highest figure of a column on the three drivers.
func span(t *testing.T, workload, row, column string, decimals int) string {
	t.Helper()
	var all []float64
	for _, driver := range []string{"rueidis", "valkey", "goredis"} {
		all = append(all, measured(t, driver, workload, row, column))
	}
	low, high := figure(slices.Min(all), decimals), figure(slices.Max(all), decimals)
	if low == high {
		return low
	}
	return low + " to " + high
}

// figure writes a number as the pages do: 1 751.
func figure(value float64, decimals int) string {
	text := strconv.FormatFloat(value, 'f', decimals, 64)
	if value < 1000 {
		return text
	}
	return text[:len(text)-3] + " " + text[len(text)-3:]
}

// measured returns a figure of docs/benchmarks/table.txt, whose columns are aligned at their ends, or of a/b the ratio.
func measured(t *testing.T, driver, workload, row, column string) float64 {
	t.Helper()
	if of, to, isRatio := strings.Cut(row, "/"); isRatio {
		return measured(t, driver, workload, of, column) / measured(t, driver, workload, to, column)
	}
	_, table, found := strings.Cut(read(t, "docs/benchmarks/table.txt"), "\n"+workload+" on "+driver+", redis\n")
	require.True(t, found, "%s on %s", workload, driver)
	header, rows, _ := strings.Cut(table, "\n")
	end := strings.Index(header+" ", " "+column+" ") + 1 + len(column)
	for line := range strings.Lines(rows) {
		if strings.HasPrefix(strings.TrimSpace(line), row+" ") {
			words := strings.Fields(line[:end])
			last := words[len(words)-1]
			if last[len(last)-1] == ')' { // It is the end of a ratio's interval.
				last = words[len(words)-4]
			}
			value, err := strconv.ParseFloat(last, 64)
			require.NoError(t, err)
			return value
		}
	}
	require.Fail(t, "no such row", "%s on %s: %s", workload, driver, row)
	return 0
}
