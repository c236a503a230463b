//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The libraries of other languages, by the names and versions of their registries. ioredis is the client of Node's.
var (
	python = []string{"redis==8.1.0"}
	node   = []string{"redlock@4.2.0", "redis-semaphore@5.8.0", "ioredis@5.9.2"}
)

// installed installs tools into a folder that git ignores, once per process and once per version. It returns the folder,
// or why there is none.
func installed(language string, tools []string, install func(folder string) []string) (folder string, missing error) {
	folder, err := filepath.Abs("../../.bin/polyglot/" + language + "-" + strings.Join(tools, "-"))
	if err != nil {
		return "", err
	}
	if _, err = os.Stat(folder); err == nil {
		return folder, nil
	}
	part := folder + ".part" // An install that fails leaves nothing that looks whole.
	words := install(part)
	_ = os.RemoveAll(part)
	if err = os.MkdirAll(part, 0o750); err != nil {
		return "", err
	}
	if out, err := exec.Command(words[0], append(words[1:], tools...)...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(words, " "), err, out)
	}
	return folder, os.Rename(part, folder)
}

var pythonTools = sync.OnceValues(func() (string, error) {
	return installed("python", python, func(folder string) []string {
		return []string{"python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries=1", "--target", folder}
	})
})

var nodeTools = sync.OnceValues(func() (string, error) {
	return installed("node", node, func(folder string) []string {
		return []string{"npm", "install", "--silent", "--no-audit", "--no-fund", "--fetch-retries=1", "--prefix", folder}
	})
})

// laravel returns the version of Laravel's cache, which Debian has as php-illuminate-cache, with php-illuminate-redis and
// php-redis.
var laravel = sync.OnceValues(func() (string, error) {
	check := exec.Command("php", "-r", `class_exists("Redis") && require "Illuminate/Redis/autoload.php";`)
	if out, err := check.CombinedOutput(); err != nil {
		return "", fmt.Errorf("Laravel's cache for Redis: %w\n%s", err, out)
	}
	version, err := exec.Command("dpkg-query", "-W", "-f", "${Version}", "php-illuminate-cache").Output()
	short, _, _ := strings.Cut(string(version), "+")
	return "Laravel " + short, err
})

// program returns how a library's program is started, before its arguments, or why it cannot be.
func program(t *testing.T, library string) (words, env []string, missing error) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	words, env = []string{self}, []string{"HASP_POLYGLOT_HOLDER=1"}
	folder := ""
	switch library {
	case "redis-py":
		folder, missing = pythonTools()
		words, env = []string{"python3", "holder.py"}, []string{"PYTHONPATH=" + folder, "PYTHONDONTWRITEBYTECODE=1"}
	case "Laravel":
		_, missing = laravel()
		words, env = []string{"php", "holder.php"}, nil
	case "node-redlock", "redis-semaphore":
		folder, missing = nodeTools()
		words, env = []string{"node", "holder.js"}, []string{"NODE_PATH=" + folder + "/node_modules"}
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		missing = err
	}
	return words, env, missing
}

// versioned returns a library's name with the version that runs.
func versioned(t *testing.T, library string) string {
	t.Helper()
	for _, tool := range append(python, node...) {
		tool = strings.Replace(strings.Replace(tool, "redis==", "redis-py ", 1), "@", " ", 1)
		tool = strings.Replace(tool, "redlock", "node-redlock", 1)
		if strings.HasPrefix(tool, library+" ") {
			return tool
		}
	}
	if library == "Laravel" {
		version, err := laravel()
		require.NoError(t, err)
		return version
	}
	info, ok := debug.ReadBuildInfo()
	require.True(t, ok)
	for _, module := range info.Deps {
		if regexp.MustCompile(`/` + library + `(/v\d+)?$`).MatchString(module.Path) {
			return library + " " + strings.TrimPrefix(module.Version, "v")
		}
	}
	return library // one of ours
}
