package backend_test

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/hasp-go/hasp/backend"
)

var (
	decimalInt   = regexp.MustCompile(`^[+-]?[0-9]+$`)
	decimalFloat = regexp.MustCompile(`^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?$`)
	longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{5,}$`)
	notFinite    = regexp.MustCompile(`^(?i)([+-]?inf(inity)?|nan)$`)
	serverCode   = regexp.MustCompile(`^[A-Z0-9_]+$`)
	hashTag      = regexp.MustCompile(`(?s)^[^{]*\{([^}]+)\}`)
)

// FuzzReplyNumbers decodes the text of a number, and compares with numbers of any size: what fits
// is exact, or the nearest float, and what does not fit is refused.
func FuzzReplyNumbers(f *testing.F) {
	for _, seed := range []string{
		"0", "-1", "9007199254740993", "1_000", "0x10", "+5", "1e3", "NaN", "-inf", "1e400", ".5", "",
		"9223372036854775807", "-9223372036854775808", "9223372036854775808", " 1", "1.7976931348623159e308",
	} {
		f.Add(seed, int64(time.Millisecond))
	}
	f.Fuzz(func(t *testing.T, s string, unit int64) {
		reply := backend.StringReply(s)
		var want *big.Int
		if decimalInt.MatchString(s) {
			want, _ = new(big.Int).SetString(s, 10)
		}
		requireNumbers(t, reply, want, max(unit, 1))
		requireFloat(t, reply, s)
		_, err := reply.Bool()
		require.ErrorIs(t, err, backend.ErrReply)
	})
}

// requireNumbers requires that a reply decodes as want; nil: that it is no integer.
func requireNumbers(t *testing.T, reply backend.Reply, want *big.Int, unit int64) {
	t.Helper()
	n, err := reply.Int()
	stamp, stampErr := reply.UnixMilli()
	d, durationErr := reply.Duration(time.Duration(unit))
	if want == nil || !want.IsInt64() {
		for _, err := range []error{err, stampErr, durationErr} {
			require.ErrorIs(t, err, backend.ErrReply)
		}
		require.Zero(t, n)
		require.Zero(t, d)
		require.Zero(t, stamp)
		return
	}
	require.NoError(t, err)
	require.Equal(t, want.Int64(), n)
	require.NoError(t, stampErr)
	require.Equal(t, n, stamp.UnixMilli())
	require.NoError(t, durationErr)
	product := new(big.Int).Mul(want, big.NewInt(unit))
	switch {
	case product.IsInt64():
		require.Equal(t, product.Int64(), int64(d))
	case product.Sign() < 0:
		require.Equal(t, int64(math.MinInt64), int64(d))
	default:
		require.Equal(t, int64(math.MaxInt64), int64(d))
	}
}

// requireFloat requires the float that is nearest to the decimal text s. Forms that Go allows and
// servers do not write are left out.
func requireFloat(t *testing.T, reply backend.Reply, s string) {
	t.Helper()
	got, err := reply.Float()
	switch {
	case decimalFloat.MatchString(s):
		exact, _ := new(big.Rat).SetString(s)
		want, _ := exact.Float64()
		require.Equal(t, math.IsInf(want, 0), err != nil, "%v for %v", err, want)
		if err == nil {
			require.InDelta(t, want, got, 0)
		}
	case notFinite.MatchString(s):
		require.NoError(t, err)
		require.True(t, math.IsInf(got, 0) || math.IsNaN(got))
	case !strings.ContainsAny(s, "xX_") && !longExponent.MatchString(s):
		require.ErrorIs(t, err, backend.ErrReply, s)
	}
	if err != nil {
		require.ErrorIs(t, err, backend.ErrReply)
		require.Zero(t, got)
	}
}

// FuzzReplyIntegers decodes an integer reply in all ways, and over its text.
func FuzzReplyIntegers(f *testing.F) {
	for _, n := range []int64{0, 1, 2, -1, 1 << 53, 1<<53 + 1, math.MaxInt64, math.MinInt64} {
		f.Add(n, int64(time.Second))
	}
	f.Fuzz(func(t *testing.T, n, unit int64) {
		reply := backend.IntegerReply(n)
		requireNumbers(t, reply, big.NewInt(n), max(unit, 1))
		text, err := reply.Text()
		require.NoError(t, err)
		requireNumbers(t, backend.StringReply(text), big.NewInt(n), max(unit, 1))
		float, err := reply.Float()
		require.NoError(t, err)
		require.InDelta(t, float64(n), float, 0)
		yes, err := reply.Bool()
		require.Equal(t, n != 0 && n != 1, err != nil)
		require.Equal(t, n == 1, yes)
		_, err = reply.Items()
		require.ErrorIs(t, err, backend.ErrReply)
	})
}

// FuzzParseServerError parses any text: the code is one, nothing is made up, and a text that no
// script's error looks like keeps every word.
func FuzzParseServerError(f *testing.F) {
	f.Add("-WRONGTYPE x script: " + hash + ", on @user_script:99999999999999999999.")
	f.Add(compiling + ":1: a stack traceback: b")
	f.Add("ERR Error running script (call to f_1): @user_script:1: ")
	f.Fuzz(func(t *testing.T, text string) {
		e := backend.ParseServerError(text)
		require.Regexp(t, serverCode, e.Code)
		require.GreaterOrEqual(t, e.Line, 0)
		text = strings.TrimPrefix(text, "-")
		require.Contains(t, text, e.Message)
		if e.Code != "ERR" {
			require.Contains(t, text, e.Code)
		}
		if !strings.Contains(text, "script") {
			require.Zero(t, e.Line)
			whole := []string{text, "ERR " + text}
			if !strings.Contains(text, " ") {
				whole = append(whole, text+" ") // a code alone
			}
			require.Contains(t, whole, e.Error())
		}
	})
}

// worded are the ways in which servers word the error of a script. Those with raised come from
// error() in the script, whose text has no code.
var worded = []struct {
	form   string // of hash, line, code, message
	raised bool
}{
	{form: "%[3]s %[4]s script: %[1]s, on @user_script:%[2]d."},
	{form: "ERR user_script:%[2]d: %[4]s script: %[1]s, on @user_script:%[2]d.", raised: true},
	{form: "%[3]s %[4]s script: on @user_script:%[2]d."},
	{form: "ERR user_script:%[2]d: %[4]s script: on @user_script:%[2]d.", raised: true},
	{form: "ERR Error running script (call to f_%[1]s): @user_script:%[2]d: %[3]s %[4]s"},
	{form: "ERR Error running script (call to f_%[1]s): @user_script:%[2]d: user_script:%[2]d: %[4]s",
		raised: true},
	{form: compiling + ":%[2]d: %[3]s %[4]s" + callFrame},
	{form: compiling + ":%[2]d: %[4]s" + errFrame, raised: true},
}

// FuzzServerErrorRoundTrip words an error as each server does, and parses it back.
func FuzzServerErrorRoundTrip(f *testing.F) {
	for i := range worded {
		f.Add(uint8(i), "WRONGTYPE", wrongKind, uint16(3)) //nolint:gosec // A few.
		f.Add(uint8(i), "ERR", "a: 5: b, on :7.", uint16(65535))
		f.Add(uint8(i), "A_1", "NOTOWNER x", uint16(0))
	}
	f.Fuzz(func(t *testing.T, way uint8, code, message string, line uint16) {
		if !serverCode.MatchString(code) || strings.ContainsAny(message, "\r\n") ||
			strings.Contains(message, "script") || strings.Contains(message, "stack traceback:") {
			t.Skip("no server words this")
		}
		w := worded[int(way)%len(worded)]
		text := fmt.Sprintf(w.form, hash, line, code, message)
		want := &backend.ServerError{Code: code, Message: message, Line: int(line)}
		if w.raised {
			want.Code = "ERR"
		}
		require.Equal(t, want, backend.ParseServerError(text), "%q", text)
		require.Equal(t, want, backend.ParseServerError("-"+text), "%q", text)
	})
}

// slotBitByBit divides by CRC-16/XMODEM's polynomial as on paper, without a table.
func slotBitByBit(key string) int {
	if tag := hashTag.FindStringSubmatch(key); tag != nil {
		key = tag[1]
	}
	bits := strings.Builder{}
	for i := range len(key) {
		fmt.Fprintf(&bits, "%08b", key[i])
	}
	rest := 0
	for _, bit := range bits.String() + strings.Repeat("0", 16) {
		if rest = rest<<1 | int(bit-'0'); rest > math.MaxUint16 {
			rest ^= 0x11021
		}
	}
	return rest % 16384
}

// FuzzSlot compares with a division on paper, for keys alone and as hash tags.
func FuzzSlot(f *testing.F) {
	f.Add("a{b}c", "{b}")
	f.Add("{}{a}", "}{a}")
	f.Fuzz(func(t *testing.T, key, other string) {
		slot := backend.Slot(key)
		require.Equal(t, slotBitByBit(key), slot, "%q", key)
		require.Equal(t, key == other || slot == slotBitByBit(other),
			backend.SameSlot([]string{key, other}) == nil)
		if key != "" && !strings.ContainsAny(key, "{}") {
			require.Equal(t, slot, backend.Slot("{"+key+"}"+other))
			require.NoError(t, backend.SameSlot([]string{key, "{" + key + "}" + other, key}))
		}
	})
}
