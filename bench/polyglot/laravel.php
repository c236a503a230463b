<?php

function hold($cache, $name, $work, $delay)
{
    $lock = $cache->lock($name, 2)->betweenBlockedAttemptsSleepFor($delay);
    $lock->block(60);
    try { $work(); } finally { $held = $lock->release(); }
    if (!$held) { throw new Exception('lost'); }
}
