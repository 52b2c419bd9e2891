"""Settings for Django's own tests: two databases on one server."""
import os


def database(name):
    return {
        "ENGINE": "django.db.backends.mysql",
        "HOST": "127.0.0.1",
        "PORT": int(os.environ["PLAY_PORT"]),
        "USER": os.environ["PLAY_USER"],
        "PASSWORD": os.environ["PLAY_PASSWORD"],
        "NAME": f"django_{name}",
        "TEST": {"CHARSET": "utf8"},
    }


DATABASES = {name: database(name) for name in ("default", "other")}
SECRET_KEY = "x"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
