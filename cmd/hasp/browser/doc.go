// Package browser tests the page of hasp serve in a real browser: see make browser.
package browser
