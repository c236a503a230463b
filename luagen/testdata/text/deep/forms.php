<p>It's HTML</p>
<?php
// It's PHP: redis.call('exists', KEYS[1])
$plain = 'if redis.call("exists", KEYS[1]) then return \'plain $name\' end return 0';
$double = "if redis.call('exists', KEYS[1]) then return 'of {$name} and $other->name' end return 0";
$sum = "if redis.call('exists', KEYS[1]) then " . 'return 1 end return 0';
$heredoc = <<<LUA
    local n = redis.call('incr', KEYS[1])
    if redis.call('exists', KEYS[1]) then return 'heredoc' end
    return n
    LUA;
$nowdoc = <<<'LUA'
if redis.call('exists', KEYS[1]) then return '$nowdoc' end return 0
LUA;
$made = "if redis.call('exists', {$key}) then return 1 end return 0"; // named
$printed = sprintf("if redis.call('exists', '%s') then return 1 end return 0", $key); // named
?>
<p>It's HTML</p>
