#!/usr/bin/env python3
"""Verifies a receipt of Precedent without any code of Precedent: Python's standard library and openssl 3.

    python3 verify-receipt.py RECEIPT.json KEYS.txt [ANSWER.json]

KEYS.txt has verifier keys of the log, one a line. Exit code 0: proved; 1: not proved, with the reason on stderr.
Formats: DSSE v1, in-toto Statement v1, C2SP tlog-proof, tlog-checkpoint and signed-note, RFC 6962, RFC 8785.
"""
import base64, hashlib, json, os, subprocess, sys, tempfile


def fail(reason):
    sys.exit("not proved: " + reason)


def signed(raw_key, message, signature):
    """Ed25519 by openssl; the 12 bytes before a raw key make it a DER public key (RFC 8410)."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("key", "message", "signature")]
        for path, data in zip(paths, (bytes.fromhex("302a300506032b6570032100") + raw_key, message, signature)):
            with open(path, "wb") as file:
                file.write(data)
        command = ["openssl", "pkeyutl", "-verify", "-pubin", "-keyform", "DER", "-inkey", paths[0],
                   "-rawin", "-in", paths[1], "-sigfile", paths[2]]
        return subprocess.run(command, capture_output=True).returncode == 0


def key_of(line):
    """A verifier key <name>+<key id>+<base64 of type and key>, as (name+id, raw key); only type 1, Ed25519."""
    name, key_id, encoded = line.split("+", 2)
    data = base64.b64decode(encoded, validate=True)
    if hashlib.sha256(name.encode() + b"\n" + data).hexdigest()[:8] != key_id:
        fail("the key id of %s is not that of its key" % name)
    return (name + "+" + key_id, data[1:]) if data[0] == 1 and len(data) == 33 else None


def root_from(leaf, index, size, proof):
    """RFC 9162, section 2.1.3.2."""
    node, last = leaf, size - 1
    for sibling in proof:
        if last == 0:
            fail("the proof is too long")
        if index % 2 == 1 or index == last:
            node = hashlib.sha256(b"\x01" + sibling + node).digest()
            while index % 2 == 0 and index != 0:
                index, last = index // 2, last // 2
        else:
            node = hashlib.sha256(b"\x01" + node + sibling).digest()
        index, last = index // 2, last // 2
    return node if last == 0 else fail("the proof is too short")


def canonical(value):
    """RFC 8785 for all that an answer holds: its numbers need no exponent."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value, ensure_ascii=False)


def main(receipt_file, keys_file, answer_file=None):
    receipt = json.load(open(receipt_file, encoding="utf-8"))
    receipt = receipt.get("receipt", receipt)
    lines = [line.strip() for line in open(keys_file, encoding="utf-8")]
    keys = dict(filter(None, (key_of(line) for line in lines if line and not line.startswith("#"))))

    payload = base64.b64decode(receipt["payload"], validate=True)
    kind = receipt["payloadType"]
    message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    signers = [s["keyid"] for s in receipt["signatures"]
               if s["keyid"] in keys and signed(keys[s["keyid"]], message, base64.b64decode(s["sig"]))]
    statement = json.loads(payload)
    said = statement["predicate"]
    if said["origin"] not in [keyid.rsplit("+", 1)[0] for keyid in signers]:
        fail("no key of the log signed the statement")
    if statement["subject"][0]["name"] != "%s#%d" % (said["origin"], said["index"]):
        fail("the subject is not the event that the statement is about")

    head, checkpoint = receipt["tlog_proof"].split("\n\n", 1)
    version, *lines = head.split("\n")
    lines = lines[1:] if lines[0].startswith("extra ") else lines
    if version != "c2sp.org/tlog-proof@v1" or lines[0] != "index %d" % said["index"]:
        fail("the proof is not for the event that the statement is about")
    text, signatures = checkpoint.rsplit("\n\n", 1)
    text += "\n"
    origin, size, root = text.split("\n")[:3]
    for line in signatures.strip("\n").split("\n"):
        _, name, data = line.split(" ")
        data = base64.b64decode(data, validate=True)
        keyid = name + "+" + data[:4].hex()
        if name == origin == said["origin"] and keyid in keys and signed(keys[keyid], text.encode(), data[4:]):
            break
    else:
        fail("no key of the log signed the checkpoint")
    leaf = bytes.fromhex(statement["subject"][0]["digest"]["sha256"])
    proof = [base64.b64decode(line, validate=True) for line in lines[1:]]
    if not said["index"] < int(size) or root_from(leaf, said["index"], int(size), proof) != base64.b64decode(root):
        fail("the log of %s events does not hold the event" % size)

    if answer_file:
        answer = json.load(open(answer_file, encoding="utf-8"))
        # What a command line adds around an answer, and the receipt itself, are not part of it.
        answer = {name: value for name, value in answer.items() if name not in ("receipt", "schema")}
        if hashlib.sha256(canonical(answer).encode()).hexdigest() != said.get("answer_sha256"):
            fail("the receipt is for another answer")
    print("proved: %s of event %d in %s, under a signed checkpoint of %s events" % (said["kind"], said["index"], origin, size))


main(*sys.argv[1:])
