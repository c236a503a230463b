//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestRecipes runs the command lines of the recipes as they are written, and compares their times. Their files have the
// settings that are named here; the manifest for Kubernetes has no others, and no password.
func TestRecipes(t *testing.T) {
	t.Parallel()
	const pod = ".spec.jobTemplate.spec.template.spec."
	for name, c := range map[string]struct{ files, line, ends, has string }{
		"Kubernetes": {
			"cronjob.yaml", pod + "containers.0.command", pod + "terminationGracePeriodSeconds",
			".apiVersion=batch/v1 .kind=CronJob .metadata.name .spec.schedule .spec.jobTemplate.spec.backoffLimit " +
				pod + "containers.0.command " + pod + "containers.0.env.0.name=HASP_URL " +
				pod + "containers.0.env.0.valueFrom.secretKeyRef.key " + pod + "containers.0.env.0.valueFrom.secretKeyRef.name " +
				pod + "containers.0.image " + pod + "containers.0.name " + pod + "restartPolicy=Never " + pod + "terminationGracePeriodSeconds",
		},
		"Systemd": {
			"report.service report.timer", "[Service].ExecStart", "[Service].TimeoutStopSec",
			"[Service].KillMode=mixed [Service].ExecStart=/usr/bin/hasp [Service].WorkingDirectory=/ [Timer].OnCalendar",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := map[string]string{}
			for file := range strings.FieldsSeq(c.files) {
				read(t, settings, string(must(os.ReadFile("../../docs/command/"+file))(t)))
			}
			for setting := range strings.FieldsSeq(c.has) {
				key, value, _ := strings.Cut(setting, "=")
				require.NotEmpty(t, settings[key], key)
				require.True(t, strings.HasPrefix(settings[key], value), key)
			}
			require.True(t, name == "Systemd" || len(settings) == len(strings.Fields(c.has)), settings)
			words, ends := strings.Fields(settings[c.line]), must(time.ParseDuration(settings[c.ends]+"s"))(t)
			require.Greater(t, ends, must(time.ParseDuration(words[slices.Index(words, "--grace")+1]))(t))
			requireRunsOnce(t, words)
		})
	}
}

// requireRunsOnce runs a command line on two hosts.
func requireRunsOnce(t *testing.T, words []string) {
	t.Helper()
	server, work, dir := startServer(t), newShared(t), t.TempDir()
	require.Equal(t, "hasp", filepath.Base(words[0]))
	require.NoError(t, os.Symlink(must(os.Executable())(t), filepath.Join(dir, words[len(words)-1])))
	for range 2 {
		c := exec.CommandContext(t.Context(), binary, words[1:]...)
		c.Dir, c.Env = dir, append(append(os.Environ(), work.env("brief")...), onServer(server.Addr()))
		require.Empty(t, string(must(c.CombinedOutput())(t)))
	}
	require.NotEmpty(t, work.owners(t))
	require.EqualValues(t, 1, exist(t, server, "{report}:completed"))
}

// read reads a manifest, or a unit, whose settings begin with their section.
func read(t *testing.T, settings map[string]string, text string) {
	t.Helper()
	if manifest := any(nil); !strings.HasPrefix(text, "[") {
		require.NoError(t, yaml.Unmarshal([]byte(text), &manifest))
		flatten(settings, "", manifest)
		return
	}
	section := ""
	for line := range strings.Lines(text) {
		key, value, set := strings.Cut(strings.TrimSpace(line), "=")
		if set && key[0] != '#' {
			settings[section+"."+key] = value
		} else if strings.HasPrefix(key, "[") {
			section = key
		}
	}
}

// flatten adds the values below a path. A list of words is one value.
func flatten(settings map[string]string, path string, value any) {
	switch value := value.(type) {
	case map[string]any:
		for key, below := range value {
			flatten(settings, path+"."+key, below)
		}
	case []any:
		if _, words := value[0].(string); words {
			settings[path] = strings.Trim(fmt.Sprint(value), "[]")
			return
		}
		for i, below := range value {
			flatten(settings, fmt.Sprint(path, ".", i), below)
		}
	default:
		settings[path] = fmt.Sprint(value)
	}
}
